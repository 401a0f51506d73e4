// What a workflow asks for, in the form that is digested and decided. The digest says what is asked, not how patiently: time-outs, attempts, how much
// is done at once and a step's code are left out, so changing them cuts nothing (a wave's are fixed when it is planned, a step's are those of the code that runs it).
import { DIGEST_VERSION, digestOf, hash } from "../digest.ts";
import { TorenError } from "../errors.ts";
import { canonical, type Json, utf8Bytes } from "../json.ts";
import { PAYLOAD_MAX_BYTES } from "../limits.ts";

export interface TaskRequest {
  readonly role: string;
  readonly input: Json;
  /** Of role and input: what claims go by. */
  readonly digest: string;
}

export interface WaveRequest {
  readonly type: "wave";
  readonly name: string;
  readonly onTaskFailure: "fail" | "collect";
  readonly timeoutMs: number | undefined;
  /** Null: no bound. */
  readonly maxParallel: number | null;
  readonly tasks: readonly TaskRequest[];
}

/** A step's code as its author wrote it. What it returns becomes JSON before anybody sees it. */
export type StepFn = (step: { readonly idempotencyKey: string; readonly signal: AbortSignal }) => Promise<unknown>;

export interface StepRequest {
  readonly type: "step";
  readonly name: string;
  readonly fn: StepFn;
  readonly attempts: number;
  readonly timeoutMs: number;
}

export interface SignalRequest {
  readonly type: "signal";
  readonly signal: string;
  readonly timeoutMs: number | undefined;
}

/** A process of the same agent, as a run of its own. */
export interface ChildRequest {
  readonly type: "child";
  readonly process: string;
  readonly input: Json;
}

export type Request =
  | WaveRequest
  | ChildRequest
  | StepRequest
  | { readonly type: "sleep"; readonly ms: number }
  | { readonly type: "sleepUntil"; readonly until: number }
  | SignalRequest
  | { readonly type: "now" }
  | { readonly type: "random" };

/** A task with its digest. @throws TorenError `payload.too_large` */
export function taskRequest(role: string, input: Json): TaskRequest {
  const text = canonical({ role, input });
  withinPayload(text, `the input of a task for role ${role}`);
  return { role, input, digest: `${DIGEST_VERSION}:${hash(text)}` };
}

/** @throws TorenError `payload.too_large`, naming size and limit */
export function withinPayload(jsonText: string, what: string): void {
  if (jsonText.length * 3 <= PAYLOAD_MAX_BYTES) return; // a UTF-16 unit is three bytes at most
  const bytes = utf8Bytes(jsonText);
  if (bytes <= PAYLOAD_MAX_BYTES) return;
  throw new TorenError("payload.too_large", `${what} has ${bytes} bytes; at most ${PAYLOAD_MAX_BYTES} are allowed`);
}

const NOW = digestOf({ type: "NowRead" });
const RANDOM = digestOf({ type: "RandomRead" });

export function digestOfRequest(request: Request): string {
  switch (request.type) {
    case "wave": {
      const { name, onTaskFailure, tasks } = request;
      return digestOf({ type: "WavePlanned", name, onTaskFailure, tasks: tasks.map((task) => task.digest) });
    }
    case "child":
      return digestOf({ type: "ChildStarted", process: request.process, input: request.input });
    case "step":
      return digestOf({ type: "StepStarted", name: request.name });
    case "sleep":
      return digestOf({ type: "TimerSet", ms: request.ms });
    case "sleepUntil":
      return digestOf({ type: "TimerSet", until: request.until });
    case "signal":
      return digestOf({ type: "SignalAwaited", signal: request.signal });
    case "now":
      return NOW;
    case "random":
      return RANDOM;
  }
}
