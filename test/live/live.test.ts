// `npm run test:live` itself, against servers that speak as the providers do, with faults on the way: a worker killed in the middle, and books that balance.
import { beforeAll, describe, expect, test } from "@jest/globals";
import { testDatabase } from "../support/database.ts";
import { CHARGES, DEMO, type Job } from "./jobs.ts";
import { type Proof, prove } from "./prove.ts";
import { type Env, WAYS, type Way } from "./providers.ts";
import { live } from "./run.ts";
import { SERVERS } from "./servers.ts";

const LIMIT_MS = 60_000;
interface Proved {
  readonly proof: Proof;
  readonly billed: number;
  readonly refusals: readonly string[];
}

async function provedOn(way: Way, job: Job): Promise<Proved> {
  const server = await SERVERS[way.name]?.();
  if (server === undefined) throw new Error(`no server for ${way.name}`);
  const db = await testDatabase();
  try {
    const proof = await prove(way, server.env, db.url, LIMIT_MS, job);
    return { proof, billed: server.billed(), refusals: server.refusals() };
  } finally {
    await db.drop();
    await server.close();
  }
}

/** The demo everywhere; what `npm run test:live` does, where a call is fetched again and where it isn't. */
const PLAYS = WAYS.flatMap((way) => [
  { name: `the demo by ${way.name}`, way, job: DEMO, answers: 11 },
  ...(/^(anthropic|openai-background)$/.test(way.name)
    ? [{ name: `a small crew by ${way.name}`, way, job: CHARGES, answers: 7 }]
    : []),
]);

describe("I5: a run whose worker is killed, on a provider that fails now and then, pays for no recorded answer again", () => {
  const proofs = new Map<string, Promise<Proved>>();
  beforeAll(async () => {
    for (const { name, way, job } of PLAYS) proofs.set(name, provedOn(way, job)); // side by side: they wait for leases most of the time
    await Promise.allSettled(proofs.values());
  }, 3 * LIMIT_MS);

  test.each(PLAYS)("$name", async ({ name, way, answers }) => {
    const { proof, billed, refusals } = (await proofs.get(name)) as Proved;
    const { modelCalls, unanswered } = proof.receipt;
    expect(refusals).toEqual([]);
    expect(modelCalls).toBe(answers);
    expect(billed).toBe(proof.billed); // what the gateway saw is what the provider's own books hold
    expect(billed).toBeGreaterThanOrEqual(modelCalls);
    expect(billed).toBeLessThanOrEqual(modelCalls + unanswered);
    if (way.keeps) expect(billed).toBe(modelCalls);
  });
});

describe("npm run test:live", () => {
  const run = async (names: readonly string[], env: Env) => {
    const lines: string[] = [];
    return { code: await live(names, env, (text) => lines.push(text)), text: lines.join("\n") };
  };

  test("without a key it says what is missing, and that is no failure", async () => {
    const { code, text } = await run([], {});
    expect(code).toBe(0);
    for (const word of ["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "AWS_REGION"]) expect(text).toContain(`set ${word}`);
    expect(text).toContain("Nothing was proved");
  });

  test("a provider that was named and has no key is a failure; so is a name that nobody has", async () => {
    expect(await run(["bedrock"], { AWS_REGION: "us-east-1" })).toMatchObject({
      code: 1,
      text: expect.stringContaining("set AWS_BEARER_TOKEN_BEDROCK, AWS_PROFILE, or AWS_ACCESS_KEY_ID"),
    });
    expect(await run(["mistral"], {})).toMatchObject({
      code: 2,
      text: expect.stringContaining("There are: anthropic"),
    });
  });
});
