// What the routes need: the use cases bound to their engine, a few reads, and who may ask. Composed by local/compose.ts; on AWS by functions/aws.ts.
import type { Context } from "hono";
import type { Histogram } from "../core/histogram.ts";
import type { Told } from "../engine/cancel-run.ts";
import type { Pruned } from "../engine/erase-runs.ts";
import type { ExportPage } from "../engine/export-run.ts";
import type { Forked, ForkRequest } from "../engine/fork-run.ts";
import type { CallRef, ReadCall } from "../engine/read-call.ts";
import type { RunView } from "../engine/read-run.ts";
import type { ReadTurns } from "../engine/read-turns.ts";
import type { RetryRequest } from "../engine/retry-run.ts";
import type { Scheduled, ScheduleRequest } from "../engine/schedules.ts";
import type { ApprovalDecision, Message, SignalToRun, Spoken } from "../engine/speak-to-task.ts";
import type { Started, StartRequest } from "../engine/start-run.ts";
import type { Agents } from "../ports/agents.ts";
import type { Audit } from "../ports/audit.ts";
import type { FileInfo, Files, NewFile } from "../ports/files.ts";
import type { Inspection } from "../ports/inspection.ts";
import type { Admission, Caller, Keys } from "../ports/keys.ts";
import type { LiveIn } from "../ports/live.ts";
import type { Log } from "../ports/log.ts";
import type { Overview } from "../ports/overview.ts";
import type { DeadLetters, QueueDepth } from "../ports/queue.ts";
import type { Schedule, Schedules } from "../ports/schedules.ts";
import type { Store } from "../ports/store.ts";
import type { Totals } from "../ports/totals.ts";
import type { StaticFiles } from "./static-files.ts";

/** A request, with whose it is. */
export type HttpContext = Context<HttpEnv>;
export interface HttpEnv {
  Variables: { caller: Caller; run?: RunRef };
}

export interface RunRef {
  readonly agent: string;
  readonly runId: string;
}

export interface UseCases {
  startRun(request: StartRequest): Promise<Started>;
  cancelRun(request: RunRef & { readonly reason: string }): Promise<Told>;
  resumeRun(request: RunRef): Promise<Told>;
  retryRun(request: RetryRequest): Promise<Told>;
  forkRun(request: ForkRequest): Promise<Forked>;
  eraseRun(request: RunRef): Promise<Told>;
  pruneRuns(request: {
    readonly agent: string;
    readonly olderThanMs: number;
    readonly dryRun: boolean;
  }): Promise<Pruned>;
  sendDeadLetter(messageId: string): Promise<Told>;
  exportRun(request: RunRef & { readonly after: string }): Promise<ExportPage>;
  decideApproval(decision: ApprovalDecision): Promise<Spoken>;
  decideCut(decision: RunRef & { readonly decision: "rerun" | "keep"; readonly by: string }): Promise<Spoken>;
  sendMessage(message: Message): Promise<Spoken>;
  sendSignal(signal: SignalToRun): Promise<Spoken>;
  addFile(file: Omit<NewFile, "pageTexts">): Promise<FileInfo>;
  createSchedule(request: ScheduleRequest, createdBy: string): Promise<Scheduled>;
  changeSchedule(schedule: Schedule, change: Partial<Omit<ScheduleRequest, "agent">>): Promise<Scheduled>;
  /** The next `count` times from now on. */
  scheduleTimes(schedule: Pick<Schedule, "cron" | "zone">, count: number): Promise<number[]>;
  /** Null: no such run. */
  readRun(request: RunRef): Promise<RunView | null>;
  readCall(request: CallRef): Promise<ReadCall>;
  readTurns(request: RunRef & { readonly before: number | null; readonly limit: number }): Promise<ReadTurns>;
}

export interface HttpDeps {
  readonly useCases: UseCases;
  readonly store: {
    readonly runs: Pick<Store["runs"], "agentOf" | "list" | "streams">;
    readonly streams: Pick<Store["streams"], "read">;
  };
  readonly inspection: Pick<Inspection, "outline">;
  readonly agents: Agents;
  readonly overview: Overview;
  readonly metrics: {
    readonly totals: Pick<Totals, "figures">;
    queues(): Promise<readonly QueueDepth[]>;
    /** Seconds that appends of this process took; null: it appends nothing. */
    readonly appends: Histogram | null;
  };
  readonly deadLetters: Pick<DeadLetters, "page" | "get" | "drop">;
  readonly files: Pick<Files, "page" | "remove" | "uploads">;
  readonly log: Log;
  /** Who a key is, if it may use this installation. It has the form of a key; compare in constant time. */
  admit(key: string): Promise<Admission>;
  readonly keys: Pick<Keys, "create" | "list" | "revoke">;
  readonly audit: Audit;
  readonly schedules: Pick<Schedules, "get" | "list" | "remove">;
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** The console's files; undefined: it isn't served. Asked for at the first request, kept by whoever makes them. */
  console?(): Promise<StaticFiles>;
  /** Left out: readers see what is recorded alone. */
  readonly live?: LiveIn;
  /** Aborts when the server ends: readers that wait are answered with what there is. */
  readonly closing?: AbortSignal;
}
