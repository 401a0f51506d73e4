/**
 * npm run test:live -- [WAY…]: on each provider that there is a key for, one small run whose worker is killed in the middle, and its books. It costs some cents.
 * Ways: anthropic, openai, openai-background, openai-chat, bedrock; without any all that have a key. Exits 1 if the books of one are wrong, or one that was
 * named has no key. TEST_DATABASE_URL is used where it is set, else a Postgres of its own.
 */
import {
  createDatabase,
  dropDatabase,
  ensureTemplate,
  openTestServer,
  withDatabase,
} from "../../local/testing/database-server.ts";
import { messageOf } from "../../shared/core/errors.ts";
import { totalTokens } from "../../shared/core/messages.ts";
import { type Proof, prove } from "./prove.ts";
import { WAYS, type Way } from "./providers.ts";

const LIMIT_MS = 5 * 60_000;

const said = ({ receipt, usage, costUsd, inFlight, billed, ms }: Proof): string =>
  [
    `${receipt.modelCalls} answers on record, ${receipt.replayed} replayed, ${inFlight} in flight at the kill, 0 paid again`,
    billed === null ? "the provider's side wasn't seen" : `${billed} requests answered by the provider`,
    `${totalTokens(usage)} tokens, ${costUsd === null ? "cost unknown" : `$${costUsd.toFixed(4)}`}, ${Math.round(ms / 1_000)} s`,
  ].join("; ");

/** Resolves with the exit code. */
export async function live(
  names: readonly string[],
  env: NodeJS.ProcessEnv,
  say: (text: string) => void,
): Promise<number> {
  const unknown = names.filter((name) => !WAYS.some((way) => way.name === name));
  if (unknown.length > 0) {
    say(`There is no ${unknown.join(", ")} here. There are: ${WAYS.map((way) => way.name).join(", ")}.`);
    return 2;
  }
  const wanted = names.length === 0 ? WAYS : WAYS.filter((way) => names.includes(way.name));
  const ready = wanted.filter((way) => way.missing(env) === null);
  let failed = 0;
  for (const way of wanted.filter((one) => !ready.includes(one))) {
    say(`skipped  ${way.name}: ${way.missing(env)}`);
    if (names.length > 0) failed++;
  }
  if (ready.length === 0) {
    say("Nothing was proved: there is no key for any of them.");
    return failed > 0 ? 1 : 0;
  }
  const server = await openTestServer();
  try {
    const template = await ensureTemplate(server.url);
    for (const way of ready) if (!(await proved(way, env, { url: server.url, template }, say))) failed++;
  } finally {
    await server.close();
  }
  return failed > 0 ? 1 : 0;
}

async function proved(
  way: Way,
  env: NodeJS.ProcessEnv,
  server: { readonly url: string; readonly template: string },
  say: (text: string) => void,
): Promise<boolean> {
  const name = await createDatabase(server.url, server.template);
  try {
    say(
      `proved   ${way.name} (${way.model(env)}): ${said(await prove(way, env, withDatabase(server.url, name), LIMIT_MS))}`,
    );
    return true;
  } catch (thrown) {
    say(`WRONG    ${way.name} (${way.model(env)}): ${messageOf(thrown)}`);
    return false;
  } finally {
    await dropDatabase(server.url, name);
  }
}

if (import.meta.main)
  process.exitCode = await live(process.argv.slice(2), process.env, (text) => process.stdout.write(`${text}\n`));
