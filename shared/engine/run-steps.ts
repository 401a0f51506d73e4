// The steps of a workflow, run in the tick's worker: code of the author's with effects. Started is durable before it begins, its end when it is known.
import { messageOf } from "../core/errors.ts";
import type { RunEvent } from "../core/events.ts";
import { jsonBytes, NotJson, toJson } from "../core/json.ts";
import { PAYLOAD_MAX_BYTES, STEP_BACKOFF_MAX_MS, STEP_BACKOFF_MS, STEPS_PARALLEL_MAX } from "../core/limits.ts";
import type { StepCall } from "../core/workflow/schedule.ts";
import { asAuthorsCode } from "../core/workflow/window.ts";
import type { AgentDefinition } from "../ports/agents.ts";
import { authorsSignal } from "./authors-signal.ts";
import type { EngineDeps } from "./deps.ts";
import { linkedTo } from "./linked-signal.ts";
import { redacted, redactedText } from "./redact.ts";

type StepEnd = Extract<RunEvent, { type: "StepCompleted" | "StepFailed" }>;

/** A step's end without a time for the next try, which only the database's clock can give: `retryInMs` says how far off it is. */
export interface StepResult {
  readonly event: StepEnd;
  readonly retryInMs: number | null;
}

/** Results wait until a round begins: decisions name events by their place in the log, so nothing may be recorded while a round decides. */
export interface Steps {
  readonly running: Map<number, Promise<void>>;
  readonly finished: StepResult[];
}

type StepDeps = Pick<EngineDeps, "sleep"> & { readonly agent: Pick<AgentDefinition, "name" | "redact"> };

/** Starts those whose turn it is and that aren't under way or waiting to be recorded, as many as may run at once. */
export function startSteps(
  deps: StepDeps,
  calls: readonly StepCall[],
  { running, finished }: Steps,
  now: number,
  interrupt: AbortSignal,
): void {
  const ended = new Set(finished.map((result) => result.event.op));
  for (const step of calls) {
    if (ended.has(step.seq)) continue;
    if (running.has(step.seq) || running.size >= STEPS_PARALLEL_MAX || (step.retryAt !== null && step.retryAt > now))
      continue;
    const done = runStep(deps, step, interrupt).then((result) => {
      if (result !== null) finished.push(result);
      running.delete(step.seq);
    });
    running.set(step.seq, done);
  }
}

/** The event, with the time of the next try by the database's clock (I8). */
export const stepEnd = ({ event, retryInMs }: StepResult, now: number): StepEnd =>
  retryInMs === null || event.type === "StepCompleted" ? event : { ...event, retryAt: Math.ceil(now + retryInMs) };

/** Null when the interrupt came first. Never rejects. */
export async function runStep(deps: StepDeps, step: StepCall, interrupt: AbortSignal): Promise<StepResult | null> {
  const over = linkedTo(interrupt);
  const what = `step ${step.name}`;
  const signal = authorsSignal(what, over.signal);
  const timedOut = deps.sleep(step.timeoutMs, over.signal).then((): StepResult | null => {
    if (interrupt.aborted) return null;
    return failed(step, "step.timeout", `step ${step.name} did not end within ${step.timeoutMs} ms`);
  });
  const uncaught = Promise.withResolvers<never>();
  const running = asAuthorsCode(
    what,
    async (): Promise<StepResult> =>
      completed(deps, step, await step.fn({ idempotencyKey: step.idempotencyKey, signal })),
    uncaught.reject,
  );
  try {
    return await Promise.race([running, timedOut, uncaught.promise]);
  } catch (thrown) {
    if (interrupt.aborted) return null; // most likely the code's own answer to its signal
    const said = redactedText(deps.agent, messageOf(thrown), { kind: "stepError", name: step.name });
    return failed(step, "step.failed", `step ${step.name} failed: ${said.ok ? said.text : said.error.message}`);
  } finally {
    over.abort();
    running.catch(() => {});
    uncaught.promise.catch(() => {});
  }
}

/** The value as it is now: what a replay reads is what the workflow sees first (c11). */
function completed({ agent }: StepDeps, step: StepCall, returned: unknown): StepResult {
  try {
    const kept = redacted(agent, toJson(returned), { kind: "stepResult", name: step.name });
    if (!kept.ok) return final(step, kept.error.message);
    const { value } = kept;
    const bytes = jsonBytes(value);
    if (bytes > PAYLOAD_MAX_BYTES)
      return final(step, `step ${step.name} returned ${bytes} bytes, over the limit of ${PAYLOAD_MAX_BYTES} bytes`);
    return { event: { type: "StepCompleted", op: step.seq, value }, retryInMs: null };
  } catch (thrown) {
    if (thrown instanceof NotJson) return final(step, `what step ${step.name} returned is not JSON: ${thrown.message}`);
    throw thrown;
  }
}

/** Trying again would give the same. */
const final = (step: StepCall, message: string): StepResult => ({
  event: { type: "StepFailed", op: step.seq, error: { code: "step.failed", message } },
  retryInMs: null,
});

function failed(step: StepCall, code: "step.failed" | "step.timeout", message: string): StepResult {
  const event: StepEnd = { type: "StepFailed", op: step.seq, error: { code, message } };
  if (step.failures + 1 >= step.attempts) return { event, retryInMs: null };
  return { event, retryInMs: Math.min(STEP_BACKOFF_MAX_MS, STEP_BACKOFF_MS * 2 ** step.failures) };
}
