// What the parts of one tick share, and the code that it runs.
import type { ErrorInfo } from "../core/errors.ts";
import type { Fact, Recorded, RunEvent } from "../core/events.ts";
import type { Json } from "../core/json.ts";
import { streamIdOf } from "../core/stream-id.ts";
import { depthOf } from "../core/workflow/child.ts";
import { beginningOf, foldRun, type RunHistory, type RunLog } from "../core/workflow/fold.ts";
import type { Execution } from "../core/workflow/schedule.ts";
import type { AgentDefinition, Deployed, ProcessDefinition } from "../ports/agents.ts";
import type { Hint } from "../ports/queue.ts";
import type { Circumstances, EngineDeps } from "./deps.ts";
import { nudge } from "./hints.ts";
import type { StreamWriter } from "./stream-writer.ts";

export interface TickWork {
  readonly deps: EngineDeps;
  readonly hint: Hint;
  readonly at: Circumstances;
  readonly deployed: Deployed;
  readonly writer: StreamWriter;
  /** The raw log since the run began, or went on anew, with what is buffered. */
  readonly log: Recorded<RunEvent>[];
  history(): RunHistory;
  /** The database's time, as of this round. */
  now(): number;
  record(event: RunEvent): void;
  /** Delivers a fact to one of the run's tasks, and its hint. */
  tell(taskId: string, key: string, fact: Fact): Promise<void>;
}

export function tickWork(
  deps: EngineDeps,
  hint: Hint,
  at: Circumstances,
  deployed: Deployed,
  writer: StreamWriter,
  log: Recorded<RunEvent>[],
  clock: { now: number },
): TickWork {
  let folded: { readonly last: unknown; readonly length: number; readonly history: RunHistory } | undefined;
  return {
    deps,
    hint,
    at,
    deployed,
    writer,
    log,
    now: () => clock.now,
    history: () => {
      const last = log.at(-1); // by identity: a refused cut takes events off again, and others come in their place
      if (folded === undefined || folded.last !== last || folded.length !== log.length)
        folded = { last, length: log.length, history: foldRun(log) };
      return folded.history;
    },
    record: (event) => {
      const seq = writer.buffer(event);
      log.push({ ...event, seq, recordedAt: clock.now });
    },
    tell: async (taskId, key, fact) => {
      const delivered = await deps.store.streams.deliver(
        { agent: hint.agent, runId: hint.runId, streamId: streamIdOf(taskId) },
        key,
        fact,
      );
      if (delivered.type === "delivered") await nudge(deps, [{ ...hint, taskId }]);
    },
  };
}

type Prepared =
  | { readonly ok: true; readonly execution: Execution<Json> }
  | { readonly ok: false; readonly error: ErrorInfo };

/** The code of the run's process, as this worker has it, with the run's input. */
export const prepare = ({ deployed, log, hint }: TickWork): Prepared => executionOf(deployed.agent, log, hint.runId);

/** `log`: from the beginning of the run, or of one of its parts. */
export function executionOf(agent: AgentDefinition, log: RunLog, runId: string): Prepared {
  const begun = beginningOf(log);
  const process: ProcessDefinition | undefined = agent.processes.get(begun.process);
  if (process === undefined) {
    const known = [...agent.processes.keys()].join(", ");
    return {
      ok: false,
      error: {
        code: "process.unknown",
        message: `The agent has no process "${begun.process}" any more; it has: ${known}.`,
      },
    };
  }
  const depth = depthOf(log);
  const { input } = begun;
  if (process.kind !== "workflow") {
    const { role } = process;
    return { ok: true, execution: { runId, depth, input, workflow: async (ctx) => await ctx.ask<Json>(role, input) } };
  }
  const parsed = process.parseInput(input);
  if (!parsed.ok) return { ok: false, error: { code: "workflow.bad_input", message: parsed.message } };
  const refuses = (next: Json): string | null => {
    const checked = process.parseInput(next);
    return checked.ok ? null : checked.message;
  };
  const workflow = process.run as Execution<Json>["workflow"];
  return { ok: true, execution: { runId, depth, input: parsed.input, workflow, refuses } };
}
