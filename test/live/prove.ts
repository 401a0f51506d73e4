// One run on a provider whose worker is killed in the middle, and the books afterwards: the log's, and those of a gateway that saw what was asked.
import { totalTokens } from "../../shared/core/messages.ts";
import type { Cost, Receipt } from "../../shared/core/receipt.ts";
import { readRun } from "../../shared/engine/read-run.ts";
import { AGENT, type Crew, createCrew, pause } from "../processes/crew.ts";
import { createGateway, type Gateway, type Hold } from "./gateway.ts";
import { CHARGES, type Job } from "./jobs.ts";
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
/** For answers that have come to be recorded. */
const SETTLE_MS = 2_000;

/** @throws Error that says what is wrong with the books. */
export async function prove(
  way: Way,
  env: Env,
  databaseUrl: string,
  limitMs: number,
  job: Job = CHARGES,
): Promise<Proof> {
  const upstream = way.upstream(env);
  const gateway = upstream === null ? null : await createGateway(upstream);
  try {
    const worker = { ...way.worker(env, gateway?.url ?? null), TOREN_LEASE_MS: String(LEASE_MS) };
    const model = way.model(env);
    const crew = await createCrew(databaseUrl, await job.files(model, way.options), worker);
    try {
      return await killed({ way, model, job, crew, gateway }, limitMs);
    } finally {
      await crew.close();
    }
  } finally {
    await gateway?.close();
  }
}

interface Play {
  readonly way: Way;
  readonly model: string;
  readonly job: Job;
  readonly crew: Crew;
  readonly gateway: Gateway | null;
}

async function killed({ way, model, job, crew, gateway }: Play, limitMs: number): Promise<Proof> {
  const began = performance.now();
  const victim = await crew.worker();
  const runId = await job.start(crew);
  const halfWay = await untilHalfWay({ crew, runId, gateway: way.keeps ? gateway : null }, limitMs);
  await victim.kill();
  halfWay.hold?.end("drop");
  const heir = await crew.worker();
  const [row] = await crew.ended([runId], limitMs);
  await heir.end();
  if (row?.status !== "completed") throw new Error(`the run has ${row?.status}: ${row?.error?.message}`);
  const view = await readRun(crew.laptop.engine, { agent: AGENT, runId });
  if (view === null) throw new Error("the run is gone");
  const { receipt, usage, costUsd, simulated } = view;
  const { inFlight } = halfWay;
  const proof = { way: way.name, model, receipt, usage, costUsd, simulated, inFlight, ms: performance.now() - began };
  await gateway?.settled(); // what the victim had asked too
  const { billed, problems } = audit(way, proof, gateway);
  problems.push(...(await job.check(crew, row)), ...(await sums(crew, runId, proof)));
  if (problems.length > 0) throw new Error(problems.join("\n"));
  return { ...proof, billed };
}

interface HalfWay {
  readonly inFlight: number;
  /** What a gateway keeps back, so that it stays so. */
  readonly hold: Hold | null;
}

interface Going {
  readonly crew: Crew;
  readonly runId: string;
  /** Where answers can be fetched again; else null. */
  readonly gateway: Gateway | null;
}

/**
 * A task has an answer on record and another under way. Where answers can be fetched again, the gateway keeps back what comes next, and what it passed on
 * before has been accepted: a kill between a question's acceptance and its record would lose the answer, on any provider, and is another matter.
 */
async function untilHalfWay(going: Going, limitMs: number): Promise<HalfWay> {
  const { gateway } = going;
  for (const end = Date.now() + limitMs; Date.now() < end; await pause(5)) {
    const { asked, ready } = await underWay(going);
    if (!ready) continue;
    if (gateway === null) return { inFlight: asked.length, hold: null };
    const hold = gateway.hold();
    const held = await acceptedUnder(hold, going);
    if (held !== null) return held;
    hold.end("pass");
  }
  throw new Error(`nothing was half done within ${limitMs / 1_000} s`);
}

/** Null: it isn't half done any more, or what was passed on takes long to be recorded. */
async function acceptedUnder(hold: Hold, going: Going): Promise<HalfWay | null> {
  await going.gateway?.settled();
  for (const end = Date.now() + SETTLE_MS; Date.now() < end; await pause(5)) {
    const keptBack = hold.asking(); // before the log is read: each of them is in it
    const { asked, ready } = await underWay(going);
    const accepted = asked.filter(({ type }) => type === "LlmCallAccepted").length;
    if (!ready) return null;
    if (asked.length - accepted === keptBack) return { inFlight: accepted, hold };
  }
  return null;
}

interface Open {
  readonly type: string;
  readonly answered: number;
}

/** Questions without an answer. `ready`: one of them is of a task that has an answer already; accepted, where it can be fetched again. */
async function underWay({ crew, runId, gateway }: Going): Promise<{ asked: readonly Open[]; ready: boolean }> {
  const open = await crew.sql<{ type: string; answered: number }>(
    `SELECT DISTINCT ON (e.stream_id) e.type,
       (SELECT count(*)::int FROM agent_${AGENT}.events a WHERE a.run_id = e.run_id AND a.stream_id = e.stream_id AND a.type = 'LlmCallCompleted') AS answered
     FROM agent_${AGENT}.events e WHERE e.run_id = $1 AND e.stream_id LIKE 'task:%' ORDER BY e.stream_id, e.seq DESC`,
    [runId],
  );
  const asked = open.filter(({ type }) => type === "LlmCallStarted" || type === "LlmCallAccepted");
  const fetchable = asked.filter(({ type }) => gateway === null || type === "LlmCallAccepted");
  return { asked, ready: fetchable.some(({ answered }) => answered > 0) };
}

/** What Postgres counted as it was written is what the log adds up to: tokens of failed calls too. */
async function sums(crew: Crew, runId: string, { usage, costUsd, receipt }: Omit<Proof, "billed">): Promise<string[]> {
  const [counted] = await crew.sql<{ calls: number; tokens: number; usd: number }>(
    `SELECT sum(model_calls)::int AS calls, sum(tokens_in + tokens_out)::float8 AS tokens, sum(cost_nano)::float8 / 1e9 AS usd
     FROM agent_${AGENT}.streams WHERE run_id = $1`,
    [runId],
  );
  const said = { calls: receipt.modelCalls, tokens: totalTokens(usage), usd: costUsd ?? counted?.usd };
  return JSON.stringify(counted) === JSON.stringify(said)
    ? []
    : [`the counts say ${JSON.stringify(counted)}, the log ${JSON.stringify(said)}`];
}

function audit(way: Way, proof: Omit<Proof, "billed">, gateway: Gateway | null) {
  const { receipt, inFlight, usage } = proof;
  const problems: string[] = [];
  const demand = (holds: boolean, what: string): void => void (holds || problems.push(what));
  demand(receipt.repaid === 0, `${receipt.repaid} recorded answers were paid again`);
  demand(receipt.replayed > 0, "nothing was replayed: the kill hit nothing");
  demand(usage.input + usage.cacheRead > 0 && usage.output > 0, "the answers came without usage");
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
