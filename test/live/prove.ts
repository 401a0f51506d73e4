// One run on a provider whose worker is killed in the middle, and the books afterwards: the log's, and those of a gateway that saw what was asked.
import type { Cost, Receipt } from "../../shared/core/receipt.ts";
import { readRun } from "../../shared/engine/read-run.ts";
import { AGENT, type Crew, createCrew, pause } from "../processes/crew.ts";
import { createGateway, type Gateway } from "./gateway.ts";
import type { Env, Way } from "./providers.ts";

export interface Proof extends Cost {
  readonly way: string;
  readonly model: string;
  readonly receipt: Receipt;
  /** Questions under way when the worker was killed. */
  readonly inFlight: number;
  /** Requests that the provider answered with 200; null: no gateway stood between. */
  readonly billed: number | null;
  readonly ms: number;
}

/** Long enough for a busy machine, short enough to be waited for. */
const LEASE_MS = 6_000;

const files = (way: Way, env: Env): Record<string, string> => ({
  "agent.yaml": `name: ${AGENT}
description: Three in parallel that each charge for something, then one that sums up.
env: [CREW_EFFECTS]
defaults: { model: "${way.model(env)}", maxTokens: 2000 }
roles:
  digger: { system: "You charge for a topic. Call charge once, with the topic as its note; then say in a few words what was charged.", tools: [charge], options: ${way.options} }
  writer: { system: You sum up in one short sentence., options: ${way.options} }
`,
  "tools.ts": `import { mkdirSync, writeFileSync } from "node:fs";
import { defineTool } from "toren";
import * as z from "zod";

export const charge = defineTool({
  description: "Charges for something.",
  input: z.object({ note: z.string().describe("What to charge for.") }),
  effects: "external",
  idempotency: "keyed",
  approval: "never",
  handler: ({ note }, ctx) => {
    mkdirSync(ctx.env.CREW_EFFECTS, { recursive: true });
    writeFileSync(ctx.env.CREW_EFFECTS + "/" + ctx.idempotencyKey, note + "\\n", { flag: "a" });
    return "charged: " + note;
  },
});
`,
  "workflows/main.ts": `import { defineWorkflow } from "toren";

export default defineWorkflow(async (ctx) => {
  const topics = ["apples", "pears", "plums"];
  const { results } = await ctx.wave("dig", topics.map((topic) => ctx.task("digger", "Charge for " + topic + " of " + ctx.input)));
  return await ctx.ask("writer", "These were charged: " + results.map((r) => r.output).join(" "));
});
`,
});

/** @throws Error that says what is wrong with the books. */
export async function prove(way: Way, env: Env, databaseUrl: string, limitMs: number): Promise<Proof> {
  const upstream = way.upstream(env);
  const gateway = upstream === null ? null : await createGateway(upstream);
  try {
    const worker = { ...way.worker(env, gateway?.url ?? null), TOREN_LEASE_MS: String(LEASE_MS) };
    const crew = await createCrew(databaseUrl, files(way, env), worker);
    try {
      return await killed(way, way.model(env), crew, gateway, limitMs);
    } finally {
      await crew.close();
    }
  } finally {
    await gateway?.close();
  }
}

async function killed(way: Way, model: string, crew: Crew, gateway: Gateway | null, limitMs: number): Promise<Proof> {
  const began = performance.now();
  const victim = await crew.worker();
  const runId = await crew.start(`order ${Math.floor(Math.random() * 1e6)}`); // no cache of a provider's knows it
  const inFlight = await untilHalfWay(crew, runId, way.keeps, limitMs);
  await victim.kill();
  const heir = await crew.worker();
  const [row] = await crew.ended([runId], limitMs);
  await heir.end();
  if (row?.status !== "completed") throw new Error(`the run has ${row?.status}: ${row?.error?.message}`);
  const view = await readRun(crew.laptop.engine, { agent: AGENT, runId });
  if (view === null) throw new Error("the run is gone");
  const { receipt, usage, costUsd, simulated } = view;
  const proof = { way: way.name, model, receipt, usage, costUsd, simulated, inFlight, ms: performance.now() - began };
  const { billed, problems } = audit(way, proof, gateway, await crew.effects());
  if (problems.length > 0) throw new Error(problems.join("\n"));
  return { ...proof, billed };
}

/** An answer is on record, another is under way: accepted by its provider, where it can be fetched again. */
async function untilHalfWay(crew: Crew, runId: string, keeps: boolean, limitMs: number): Promise<number> {
  for (const end = Date.now() + limitMs; Date.now() < end; await pause(5)) {
    const open = await crew.sql<{ type: string; answered: number }>(
      `SELECT DISTINCT ON (e.stream_id) e.type,
         (SELECT count(*)::int FROM agent_${AGENT}.events a WHERE a.run_id = e.run_id AND a.type = 'LlmCallCompleted') AS answered
       FROM agent_${AGENT}.events e WHERE e.run_id = $1 AND e.stream_id LIKE 'task:%' ORDER BY e.stream_id, e.seq DESC`,
      [runId],
    );
    const asked = open.filter(({ type }) => type === "LlmCallStarted" || type === "LlmCallAccepted");
    const ready = keeps ? asked.every(({ type }) => type === "LlmCallAccepted") : true;
    if ((open[0]?.answered ?? 0) > 0 && asked.length > 0 && ready) return asked.length;
  }
  throw new Error(`nothing was half done within ${limitMs / 1_000} s`);
}

function audit(way: Way, proof: Omit<Proof, "billed">, gateway: Gateway | null, effects: readonly string[]) {
  const { receipt, inFlight, usage } = proof;
  const problems: string[] = [];
  const demand = (holds: boolean, what: string): void => void (holds || problems.push(what));
  demand(receipt.repaid === 0, `${receipt.repaid} recorded answers were paid again`);
  demand(receipt.replayed > 0, "nothing was replayed: the kill hit nothing");
  demand(usage.input + usage.cacheRead > 0 && usage.output > 0, "the answers came without usage");
  demand(effects.length === 3, `${effects.length} charges were made instead of 3`);
  if (gateway === null) return { billed: null, problems };
  const asked = gateway.passed.filter(({ method, status }) => method === "POST" && status === 200);
  const again = asked.length - new Set(asked.map(({ question }) => question)).size;
  const { modelCalls, unanswered } = receipt;
  demand(
    asked.length >= modelCalls,
    `${modelCalls} answers on record, but only ${asked.length} requests were answered`,
  );
  demand(
    asked.length <= modelCalls + unanswered,
    `the provider answered ${asked.length} requests: ${modelCalls} are on record, ${unanswered} were lost on the way`,
  );
  demand(again <= unanswered, `${again} questions were answered twice, and only ${unanswered} answers were lost`);
  if (way.keeps) demand(again === 0, `${again} of ${inFlight} questions in flight were asked again instead of fetched`);
  return { billed: asked.length, problems };
}
