// One run in a test: waits that have bounds and say what stands in the way, and what people do to a run.
import { setTimeout as wait } from "node:timers/promises";
import { type ErrorInfo, TorenError } from "../../shared/core/errors.ts";
import type { Json } from "../../shared/core/json.ts";
import { decideApproval, type Spoken, sendMessage, sendSignal } from "../../shared/engine/speak-to-task.ts";
import type { RunRow, RunStatus } from "../../shared/ports/store.ts";
import type { Crew } from "./crew.ts";
import type { Scripts } from "./scripts.ts";

/** How long `until` waits on the machine's clock, if not told otherwise. */
const UNTIL_MS = 20_000;
/** A century: `advance` goes no further at once. */
const ADVANCE_MAX_MS = 100 * 365 * 24 * 3_600_000;
const LOOK_MS = 5;

export interface TestRun {
  readonly runId: string;
  /**
   * Waits until the run has ended, or is parked: nobody works on it, and it goes on by a person, a fact or a time only. Rejects as soon as that can't
   * come any more (it ended, it waits for somebody, a script was wrong), at the latest after `timeoutMs`, 20 seconds by default.
   */
  until(state: "parked" | "ended", options?: { readonly timeoutMs?: number }): Promise<RunStatus>;
  /** What is known now; it waits for nothing. `output` is null while there is none. */
  result(): Promise<{ readonly status: RunStatus; readonly output: Json | null; readonly error: ErrorLike | null }>;
  /** Allows the call that waits. Resolves when that is recorded; what follows is `until`'s to wait for. `call` names one of several. */
  approve(by: string, comment?: string, call?: string): Promise<void>;
  /** As `approve`: the call doesn't run, and the model reads who denied it and why. */
  deny(by: string, comment?: string, call?: string): Promise<void>;
  /** Says something to a session. Resolves when that is recorded. `close`: it ends with the answer. */
  send(text: string, options?: { readonly close?: boolean }): Promise<void>;
  /** Sends a signal to its workflow. Resolves when that is recorded: it is kept until the workflow waits for it. */
  signal(name: string, value: Json): Promise<void>;
  /** Puts the clock of all runs of this agent forward. Resolves when that is done; what falls due is `until`'s to wait for. */
  advance(ms: number): Promise<void>;
  /** The worker dies in the middle of whatever it does, and another takes over at once. Resolves when the other one works. */
  kill(): Promise<void>;
}

interface ErrorLike {
  readonly code: string;
  readonly message: string;
}

export function createRun(crew: Crew, scripts: Scripts, agent: string, runId: string): TestRun {
  const row = async (): Promise<RunRow> => {
    const found = await crew.worker.deps.store.runs.get(agent, runId);
    if (found === null) throw new Error(`run ${runId} is gone`);
    return found;
  };
  const decide = async (granted: boolean, by: string, comment = "", call?: string): Promise<void> =>
    told(
      await decideApproval(crew.worker.deps, {
        agent,
        runId,
        granted,
        by,
        comment,
        ...(call === undefined ? {} : { call }),
      }),
    );
  return {
    runId,
    until: async (state, { timeoutMs = UNTIL_MS } = {}) => {
      for (const end = performance.now() + timeoutMs; ; await wait(LOOK_MS)) {
        const problem = scripts.problems[0] ?? crew.failure;
        if (problem != null) throw new Error(problem);
        const { rests, dueInMs } = await crew.rest(runId);
        const now = await row();
        if (now.endedAt !== null) {
          if (state === "ended") return now.status;
          throw new Error(`The run doesn't park: it ended as ${ended(now)}.`);
        }
        const leftMs = end - performance.now();
        if (rests && state === "parked") return now.status;
        if (rests && (dueInMs === null || dueInMs > leftMs)) throw new Error(stuck(now, dueInMs));
        if (leftMs <= 0) throw new Error(`The run is still ${now.status} after ${timeoutMs} ms, and not ${state}.`);
      }
    },
    result: async () => {
      const { status, output, error } = await row();
      return { status, output, error };
    },
    approve: (by, comment, call) => decide(true, by, comment, call),
    deny: (by, comment, call) => decide(false, by, comment, call),
    send: async (text, { close = false } = {}) =>
      told(await sendMessage(crew.worker.deps, { agent, runId, text, close, steer: false })),
    signal: async (name, value) => told(await sendSignal(crew.worker.deps, { agent, runId, signal: name, value })),
    advance: async (ms) => {
      if (!(ms >= 0 && ms <= ADVANCE_MAX_MS))
        throw new RangeError(`Time goes forward, by 0 to ${ADVANCE_MAX_MS} ms: not by ${ms}.`);
      await crew.advance(ms);
    },
    kill: () => crew.kill(),
  };
}

function told(spoken: Spoken): void {
  if (spoken.type === "refused") throw torenError(spoken.error);
}

export const torenError = ({ code, message }: ErrorInfo): TorenError => new TorenError(code, message);

const ended = ({ status, error }: RunRow): string =>
  error === null ? status : `${status} (${error.code}: ${error.message})`;

function stuck({ status }: RunRow, dueInMs: number | null): string {
  const why =
    dueInMs === null
      ? "nothing but a person, or a fact, ends that: approve, deny, send or signal"
      : `its clock rings in ${Math.ceil(dueInMs)} ms: advance, or wait longer`;
  return `The run doesn't end by itself: it is parked as ${status}, and ${why}.`;
}
