// Whole runs on Bedrock's wire, over the real engine and Postgres: calls that fail in every way, workers that die, and books that are balanced.
import { afterAll, afterEach, beforeAll, expect, test } from "@jest/globals";
import { type Fate, fate } from "../../../local/testing/mortal.ts";
import { createBedrock } from "../../../shared/adapters/model/bedrock/index.ts";
import { migrate } from "../../../shared/adapters/store/migrate.ts";
import { agent, role, serving, tool, workflow } from "../../support/agents.ts";
import { type TestDatabase, testDatabase } from "../../support/database.ts";
import { createStack, passTime } from "../../support/stack.ts";
import { CLAUDE, CREDENTIALS, LLAMA, NEW_CLAUDE, NOVA } from "../../support/wire/bedrock/harness.ts";
import { createWireBedrock, type Fault, type Script, type WireBedrock } from "../../support/wire/bedrock/server.ts";
import { blocksOf } from "../../support/wire/bedrock/shape.ts";

let db: TestDatabase;
let server: WireBedrock;
beforeAll(async () => {
  db = await testDatabase();
  await migrate(db.database, ["crew"]);
});
afterEach(async () => {
  await server.close();
});
afterAll(async () => await db.drop());

/** Looks twice, two calls at once, thinking each time; then says what it saw. */
const looks: Script = ({ body }) => {
  const results = body.messages.flatMap(({ content }) => blocksOf(content, "toolResult"));
  if (results.length >= 4) return `I saw ${results.length} things.`;
  return {
    content: [
      { reasoning: `I have seen ${results.length}.` },
      { text: "Let me look." },
      { toolUse: { name: "look", input: { n: results.length } } },
      { toolUse: { name: "look", input: { n: results.length + 1 } } },
    ],
  };
};
const look = tool("look", (args) => ({ seen: (args as { n: number }).n }));
const crew = agent(
  "crew",
  [role("looker", { tools: [look] })],
  workflow(async (ctx) => {
    const { results } = await ctx.wave(
      "looks",
      ["a", "b"].map((what) => ctx.task("looker", what)),
    );
    return results.map(({ output }) => output ?? null);
  }),
);

const FAULTS: readonly Fault[] = [
  { fault: "exception", status: 429, name: "ThrottlingException", message: "Slow down." },
  { fault: "midStream", name: "serviceUnavailableException", message: "Away.", after: 3 },
  { fault: "cut", after: 4 },
  { fault: "ends", after: 5 },
  { fault: "html", status: 502 },
  { fault: "empty" },
  { fault: "reset" },
];

async function run(model: string, hand?: Fate) {
  const bedrock = createBedrock({ model, region: "us-east-1", endpoint: server.url, credentials: CREDENTIALS });
  const world = { database: db.database, agents: serving(crew), model: bedrock };
  let stack = createStack({ ...world, ...(hand === undefined ? {} : { fate: hand }) });
  const runId = await stack.start("crew", "go");
  let row = await stack.drive({ agent: "crew", runId }, { timeoutMs: 60_000 });
  stack.stop();
  while (row === null || row.endedAt === null) {
    await Promise.all(stack.fate.underWay);
    await passTime(db.database, "crew");
    stack = createStack(world);
    row = await stack.drive({ agent: "crew", runId }, { timeoutMs: 60_000 });
    stack.stop();
  }
  return { row, runId };
}

/** Every answer on record is one that the provider sent whole, with its tokens; and none is on record twice. */
async function books(runId: string): Promise<{ answers: number; tokens: number }> {
  const { rows } = await db.database.pool.query<{ input: string; output: string; answers: string }>(
    `SELECT count(*) AS answers, sum((payload->'usage'->>'input')::int + (payload->'usage'->>'cacheRead')::int
       + (payload->'usage'->>'cacheWrite')::int) AS input, sum((payload->'usage'->>'output')::int) AS output
     FROM agent_crew.events WHERE run_id = $1 AND type = 'LlmCallCompleted'`,
    [runId],
  );
  return { answers: Number(rows[0]?.answers), tokens: Number(rows[0]?.input) + Number(rows[0]?.output) };
}

test.each([CLAUDE, NEW_CLAUDE, NOVA, LLAMA])(
  "%s: every second question fails, each in another way",
  async (model) => {
    server = await createWireBedrock({ script: looks });
    server.faults = (n) => (n % 2 === 1 ? (FAULTS[(n - 1) / 2] ?? null) : null);
    const { row, runId } = await run(model);
    expect(row).toMatchObject({ status: "completed", output: ["I saw 4 things.", "I saw 4 things."] });
    const whole = server.ledger.filter(({ answered }) => answered);
    expect(await books(runId)).toEqual({
      answers: 6,
      tokens: whole.reduce((sum, { usage }) => sum + (usage?.totalTokens ?? 0), 0),
    });
    expect(whole).toHaveLength(6);
    expect(server.ledger.filter(({ status }) => status === 400)).toEqual([]); // nothing was ever refused
  },
  90_000,
);

test.each([4, 7, 10, 13])(
  "the worker dies after its write %d: what is on record isn't asked again",
  async (at) => {
    server = await createWireBedrock({ script: looks });
    const { row, runId } = await run(CLAUDE, fate(at));
    expect(row).toMatchObject({ status: "completed", output: ["I saw 4 things.", "I saw 4 things."] });
    const { answers } = await books(runId);
    expect(answers).toBe(6);
    const asked = server.ledger.map(({ body }) => JSON.stringify(body));
    const again = asked.length - new Set(asked).size;
    expect(asked.length - again).toBe(new Set(asked).size);
    expect(again).toBeLessThanOrEqual(2); // one call of each task may have been under way
    expect(server.ledger.filter(({ status }) => status === 400)).toEqual([]);
  },
  90_000,
);
