// Runs and the runs that their workflows started: each child began with its start, once, told its parent of its end, and stops with it.
import type { EventDump, RunDump, StreamDump } from "./log-checker.ts";
import { effectiveRun } from "./log-checker-run.ts";

const ownOf = (run: RunDump): StreamDump | undefined => run.streams.find((s) => s.streamId === "run");

/** Also, of a child that is waited for, what will wake its parent. */
export function checkFamily(dump: readonly RunDump[]): string[] {
  const runs = new Map(dump.map((run) => [run.runId, run]));
  return dump.flatMap((run) => {
    const own = ownOf(run);
    if (own === undefined) return [];
    const starts = own.events.filter((e) => e.type === "ChildStarted");
    const found = [
      ...starts.flatMap((start) => checkStart(run, start, runs)),
      ...checkEnds(own, runs),
      ...checkOrphan(run, own, runs),
    ];
    return found.map((what) => `run ${run.runId}: ${what}`);
  });
}

const parentOf = (run: RunDump): string | undefined =>
  (ownOf(run)?.events[0]?.payload.parent as { run: string } | undefined)?.run;

/** A fork's log names its source's children. */
const isForked = (own: StreamDump): boolean => own.events.some((e) => e.payload.fork !== undefined);

function checkStart(run: RunDump, { seq, payload }: EventDump, runs: ReadonlyMap<string, RunDump>): string[] {
  const own = ownOf(run) as StreamDump;
  const child = runs.get(String(payload.run));
  if (child === undefined) return isForked(own) ? [] : [`${seq}: its child ${payload.run} isn't there`];
  if (parentOf(child) !== run.runId) return isForked(own) ? [] : [`${seq}: ${payload.run} is another run's child`];
  const row = ownOf(child);
  const told = own.inbox.filter((f) => f.key.startsWith(`child:${payload.run}:`));
  if (own.status === "ended" && row?.status !== "ended" && !row?.inbox.some((f) => f.payload.kind === "cancel"))
    return [`${seq}: it has ended, and its child ${payload.run} goes on untold`];
  if (seq <= own.sealedSeq && row?.status !== "ended" && !row?.inbox.some((f) => f.payload.kind === "cancel"))
    return [`${seq}: it has gone on anew, and its child ${payload.run} goes on untold`];
  const retried = own.events.some((e) => e.payload.retry !== undefined); // it may have ended while its parent had
  return own.status !== "ended" && row?.status === "ended" && told.length === 0 && !retried
    ? [`${seq}: ${payload.run} has ended, and its parent wasn't told`]
    : [];
}

/** What a parent heard of a child's end is what the child's log says; each child is held by one operation. */
function checkEnds(own: StreamDump, runs: ReadonlyMap<string, RunDump>): string[] {
  const wrong: string[] = [];
  const held = new Map<string, EventDump>();
  const reopened = new Map(
    own.events.flatMap((e) =>
      e.type === "OperationReopened" && e.payload.run !== undefined ? [[e.payload.op, e.payload.run]] : [],
    ),
  );
  for (const e of effectiveRun(own.events)) {
    if (e.type === "ChildStarted") {
      const run = String(reopened.get(e.seq) ?? e.payload.run);
      if (held.has(run)) wrong.push(`${e.seq}: ${run} is held by ${held.get(run)?.seq} already`);
      held.set(run, e);
    }
    if (e.type !== "ChildEnded") continue;
    const run = [...held].find(([, start]) => start.seq === e.payload.op)?.[0] ?? "";
    const outcome = e.payload.outcome as { status: string; output?: unknown };
    const child = runs.get(run);
    const last = child === undefined ? undefined : ownOf(child)?.events.at(-1);
    if (child === undefined || parentOf(child) === undefined || isForked(own)) continue;
    const done = last?.type === "RunCompleted";
    if (
      done !== (outcome.status === "completed") ||
      (done && JSON.stringify(last?.payload.output) !== JSON.stringify(outcome.output))
    )
      wrong.push(`${e.seq}: ${run} is said to have ${JSON.stringify(outcome)}, its log ends with ${last?.type}`);
  }
  return wrong;
}

/** A child that its parent's log doesn't name. */
function checkOrphan(run: RunDump, own: StreamDump, runs: ReadonlyMap<string, RunDump>): string[] {
  const parent = parentOf(run);
  if (parent === undefined || isForked(own)) return [];
  const above = runs.get(parent);
  if (above === undefined) return [`its parent ${parent} isn't there`];
  const named = ownOf(above)?.events.some((e) => e.payload.run === run.runId);
  return named ? [] : ["its parent's log doesn't name it"];
}
