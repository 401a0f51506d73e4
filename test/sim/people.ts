// People around a simulated run: they look at it now and then, from some worker's HTTP side, and do what it waits for; or speak when they like. What they
// ask may get lost like anything else, so they ask again, and two of them ask the same.
import { decideApproval, decideCut, type Spoken, sendMessage, sendSignal } from "../../shared/engine/speak-to-task.ts";
import type { Run } from "./database.ts";
import type { People } from "./program.ts";
import type { Random } from "./random.ts";
import { SCRIPTED_AGENT, type Worker } from "./worker.ts";

const agent = SCRIPTED_AGENT;
type Deps = Worker["deps"];

/** One look at one run. `said`: what its user was told to have said, and may go on from. */
export interface Visitor {
  visit(deps: Deps, run: Run): Promise<void>;
}

export function createVisitor(people: People, random: Random): Visitor {
  const heard = new Map<string, Set<number>>();
  const speak = async (deps: Deps, runId: string, says: readonly string[]): Promise<void> => {
    const told = heard.get(runId) ?? new Set<number>();
    heard.set(runId, told);
    const left = says.map((_, i) => i).filter((i) => !told.has(i));
    const i = left.length === 0 ? -1 : random.pick(left);
    const message = { agent, runId, steer: random.chance(0.4) };
    if (i < 0) {
      await sendMessage(deps, { ...message, text: "", close: true, idempotencyKey: "close" });
      return;
    }
    const spoken = await sendMessage(deps, { ...message, text: says[i] ?? "", close: false, idempotencyKey: `m${i}` });
    if (spoken.type === "told") told.add(i);
  };
  const allow = async (deps: Deps, runId: string, allows: NonNullable<People["allows"]>): Promise<void> => {
    for (const call of await deps.store.tasks.approvals(agent, runId)) {
      const granted = call.decided === null ? allows(call, random) : null;
      if (granted === null) continue;
      await decideApproval(deps, { agent, runId, call: call.key, granted, by: "ann", comment: "no" });
    }
  };
  const decide = async (deps: Deps, runId: string, decisions: readonly ("keep" | "rerun")[]): Promise<void> => {
    const streams = await deps.store.runs.streams(agent, runId);
    if (!streams.some((s) => s.wait === "cut")) return;
    const told: Spoken = await decideCut(deps, { agent, runId, decision: random.pick(decisions), by: "ann" });
    if (told.type === "refused" && told.error.code === "cut.nothing_to_keep")
      await decideCut(deps, { agent, runId, decision: "rerun", by: "ann" });
  };
  /** Two who send the same at the same moment are one. */
  const send = async (deps: Deps, runId: string, signals: NonNullable<People["signals"]>): Promise<void> => {
    const i = random.int(signals.length);
    const sent = signals[i];
    if (sent !== undefined) await sendSignal(deps, { agent, runId, ...sent, idempotencyKey: `s${i}` });
  };
  return {
    visit: async (deps, { record: { runId } }) => {
      const { allows, decisions, says, signals } = people;
      if (signals !== undefined) await send(deps, runId, signals);
      if (allows !== undefined) await allow(deps, runId, allows);
      if (decisions !== undefined) await decide(deps, runId, decisions);
      if (says !== undefined) await speak(deps, runId, says);
    },
  };
}
