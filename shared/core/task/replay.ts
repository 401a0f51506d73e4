// A task's log read against today's code (I6): the same questions, or the first one that differs and what a cut there would repeat (I6b).
import { type Price, priceOf } from "../cost.ts";
import { isUnrepeatable, type Recorded, type TaskEvent, TERMINAL } from "../events.ts";
import type { Json } from "../json.ts";
import { summaryText } from "./answers.ts";
import { changedParts, type Header } from "./header.ts";
import { toolUses } from "./history.ts";
import { entered } from "./ledger.ts";
import type { OutputCheck } from "./output.ts";
import { type Snapshot, stateFrom } from "./snapshot.ts";
import { apply } from "./state.ts";
import { initialState, requestDigest, stepIdOf, type TaskState } from "./task-state.ts";

/** The log without what was cut; what absorbed a fact from outside stays (I6). */
export function effectiveTask(raw: readonly Recorded<TaskEvent>[]): Recorded<TaskEvent>[] {
  let log: Recorded<TaskEvent>[] = [];
  for (const event of raw) {
    if (event.type === "StreamInvalidated")
      log = log.filter((e) => e.seq < event.fromSeq || ("inboxSeq" in e && !TERMINAL.has(e.type)));
    else log.push(event);
  }
  return log;
}

export type Replayed =
  | { readonly type: "ok"; readonly state: TaskState }
  /**
   * The log holds a question that today's code doesn't ask there (I6). `calls`: completed ones that a cut would silently repeat (I6b); `begun`: the same,
   * but their worker died in the middle; `price`: of the answers that it takes away.
   */
  | {
      readonly type: "mismatch";
      readonly fromSeq: number;
      readonly reason: string;
      readonly calls: readonly string[];
      readonly begun: readonly string[];
      readonly price: Price;
    };

/** `raw`: the log, or what came after `from`. */
export function replay(
  header: Header,
  check: OutputCheck | null,
  input: Json,
  raw: readonly Recorded<TaskEvent>[],
  session = false,
  from: Snapshot | null = null,
): Replayed {
  const state = from === null ? initialState(header, check, input, session) : stateFrom(from, header, check);
  const before = { starts: new Map(state.starts), ledger: state.ledger, summaryCalls: state.summaryCalls };
  const log = effectiveTask(raw);
  const sealedUpTo =
    log.findLast((e) => e.type === "InputRequested" || (e.type === "CutDecided" && e.decision === "keep"))?.seq ?? 0;
  let parts: Readonly<Record<string, string>> = header.parts;
  for (const event of log) {
    if (event.type === "TaskStarted") parts = event.parts;
    if (
      event.type === "LlmCallStarted" &&
      event.purpose === "step" && // a summary is a fact by value; what it was of was checked with the steps before
      event.seq > sealedUpTo &&
      (state.phase.type !== "ask" || event.stepId !== stepIdOf(state) || event.requestDigest !== requestDigest(state))
    ) {
      return {
        type: "mismatch",
        fromSeq: event.seq,
        reason: reasonOf(event.stepId, parts, header),
        ...unrepeatable(log, event.seq),
        price: priceOf(log.flatMap((e) => (e.seq > event.seq && e.type === "LlmCallCompleted" ? [e.cost] : []))),
      };
    }
    apply(state, event, event.seq);
  }
  restoreRaw(state, raw, before);
  return { type: "ok", state };
}

/** What cut parts still say: ids that were used, calls that were begun, summaries that were paid, and what it all cost. */
function restoreRaw(
  state: TaskState,
  raw: readonly Recorded<TaskEvent>[],
  before: Pick<TaskState, "starts" | "ledger" | "summaryCalls">,
): void {
  state.starts.clear();
  for (const [key, times] of before.starts) state.starts.set(key, times);
  state.ledger = raw.reduce(entered, before.ledger);
  state.summaryCalls = before.summaryCalls;
  let summaryAsked: string | null = null;
  for (const event of raw) {
    if (event.type === "TaskStarted") state.attempts = Math.max(state.attempts, event.attempt);
    if (event.type === "LlmCallStarted") summaryAsked = event.purpose === "summary" ? event.requestDigest : null;
    if (event.type === "LlmCallCompleted" && summaryAsked !== null) {
      state.summaryCalls++;
      if (event.response.stopReason !== "contextExceeded")
        state.summaries.set(summaryAsked, summaryText(event.response));
    }
    if (event.type === "LlmCallCompleted")
      for (const use of toolUses(event.response.content)) state.usedIds.add(use.id);
    if (event.type === "ToolCallStarted")
      state.starts.set(event.idempotencyKey, (state.starts.get(event.idempotencyKey) ?? 0) + 1);
  }
}

function reasonOf(stepId: string, before: Readonly<Record<string, string>>, header: Header): string {
  const changed = changedParts(before, header.parts);
  return changed.length === 0
    ? `the messages of step ${stepId} differ`
    : `${changed.join(", ")} changed, seen at step ${stepId}`;
}

function unrepeatable(
  log: readonly Recorded<TaskEvent>[],
  fromSeq: number,
): { readonly calls: string[]; readonly begun: string[] } {
  const begun = new Map<string, string>();
  const calls: string[] = [];
  for (const event of log) {
    if (event.seq < fromSeq) continue;
    if (event.type === "ToolCallStarted" && isUnrepeatable(event)) begun.set(event.toolUseId, event.tool);
    const tool = event.type === "ToolCallCompleted" ? begun.get(event.toolUseId) : undefined;
    if (event.type !== "ToolCallCompleted" || tool === undefined) continue;
    calls.push(tool);
    begun.delete(event.toolUseId);
  }
  return { calls, begun: [...begun.values()] };
}
