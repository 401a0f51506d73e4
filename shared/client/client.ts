// A client of the HTTP API with a method for everything that people and programs do with runs: `toren/client`. The command line is made of it.
import type { Json } from "../core/json.ts";
import type { Pruned } from "../engine/erase-runs.ts";
import type { AgentJson } from "../http/agents.ts";
import type { DeadLetterJson } from "../http/dead-letters.ts";
import type { Page } from "../http/events-page.ts";
import type { RunJson, RunSummary, TurnsPageJson } from "../http/run-json.ts";
import type { FileInfo, Upload } from "../ports/files.ts";
import { itemsOf, type StreamItem } from "./event-stream.ts";
import {
  ApiError,
  createTransport,
  put,
  type Query,
  searchOf,
  type Transport,
  type TransportOptions,
  unreachable,
} from "./transport.ts";

export interface NewRun {
  /** Name of the agent. */
  readonly agent: string;
  /** Default: `main`. */
  readonly process?: string;
  readonly input: Json;
  /** Ids of uploaded files. Default: none. */
  readonly files?: readonly string[];
  /** Labels to find the run by. Default: none. */
  readonly attributes?: Readonly<Record<string, string>>;
  /** What it may use. Default: what its agent allows. */
  readonly limits?: { readonly maxCostUsd?: number; readonly totalTokens?: number };
}
export interface StartedRun {
  readonly runId: string;
  readonly agent: string;
}
export interface RunsPage {
  readonly runs: readonly RunSummary[];
  /** Pass it as `cursor` for the page that follows; null: this was the last. */
  readonly next: string | null;
}
export interface FilesPage {
  readonly files: readonly (FileInfo & { readonly createdAt: string })[];
  readonly next: string | null;
}
export interface DeadLettersPage {
  readonly deadLetters: readonly DeadLetterJson[];
  readonly next: string | null;
}
/** `by`: who decides, as people read it. Default: the name of the API key; so everywhere. */
export interface CallDecision {
  readonly granted: boolean;
  /** The call's id or key; needed where several wait. */
  readonly call?: string;
  readonly comment?: string;
  readonly by?: string;
}
export interface CutDecision {
  readonly decision: "rerun" | "keep";
  readonly by?: string;
}
export interface NewMessage {
  readonly text?: string;
  /** Ends the session after it. */
  readonly close?: boolean;
  /** Read at the next step and not at the turn's end. */
  readonly steer?: boolean;
}
export interface Retry {
  readonly by?: string;
  readonly limits?: { readonly maxCostUsd?: number; readonly totalTokens?: number };
}
export interface Fork {
  readonly from?: string;
  readonly rerun?: boolean;
  readonly by?: string;
}
export interface WaitOptions {
  /** When to stop before the run's end. Default: when it has ended, or waits for a person or a signal. */
  until?(run: RunJson): boolean;
  /** Ends the wait: it rejects with the signal's reason. */
  readonly signal?: AbortSignal;
}

/** Every method rejects with an `ApiError`: what the server said, or `server.unreachable`. */
export interface Client {
  readonly url: string;
  /** Any route: of those that have no method of their own here. */
  ask<T>(method: string, path: string, body?: unknown): Promise<T>;
  /** Whether a server answers. Never rejects. */
  healthy(): Promise<boolean>;
  agents(): Promise<readonly AgentJson[]>;
  /** At most 32 MiB; the same file twice has one id. */
  addFile(name: string, mediaType: string, content: Uint8Array<ArrayBuffer> | Blob): Promise<FileInfo>;
  files(query?: Query): Promise<FilesPage>;
  removeFile(id: string): Promise<void>;
  /** Safe to repeat under the same key, which begins no second run. Default: a key of this call alone. */
  start(run: NewRun, idempotencyKey?: string): Promise<StartedRun>;
  list(query?: Query): Promise<RunsPage>;
  run(runId: string): Promise<RunJson>;
  /** The run as soon as it is as wanted: reads it anew whenever its log has grown. */
  wait(runId: string, options?: WaitOptions): Promise<RunJson>;
  /** What was said in a session, a page at a time from its end. */
  turns(runId: string, query?: Query): Promise<TurnsPageJson>;
  /** A page of the run's log; `wait`: seconds to wait for something to be in it. */
  events(runId: string, query?: Query, signal?: AbortSignal): Promise<Page>;
  /**
   * The log after `query.after`, and what models say while they say it, until the run or the server ends, or the signal aborts. The last item's `after` takes
   * it up again.
   */
  watch(runId: string, query?: Query, signal?: AbortSignal): AsyncIterable<StreamItem>;
  cancel(runId: string, reason?: string): Promise<void>;
  /** Decides about a cut that waits; without a decision has somebody look at the run now. */
  resume(runId: string, decision?: CutDecision): Promise<void>;
  /** A failed run goes on; what is recorded isn't paid again. */
  retry(runId: string, retry?: Retry): Promise<void>;
  /** Safe to repeat under the same key. */
  fork(runId: string, fork?: Fork, idempotencyKey?: string): Promise<StartedRun>;
  /** A page of an export: its lines, and where the next one begins. */
  export(
    runId: string,
    after?: string | null,
  ): Promise<{ readonly lines: readonly string[]; readonly next: string | null }>;
  erase(runId: string): Promise<void>;
  prune(request: { readonly agent: string; readonly olderThan: string; readonly dryRun?: boolean }): Promise<Pruned>;
  deadLetters(query?: Query): Promise<DeadLettersPage>;
  deadLetter(id: string): Promise<DeadLetterJson>;
  sendDeadLetter(id: string): Promise<void>;
  dropDeadLetter(id: string): Promise<void>;
  /** Allows a call that waits for a person, or denies it. The first decision holds: who comes later is told who decided, as `decision.taken`. */
  approve(runId: string, decision: CallDecision): Promise<void>;
  /** Says something in a session. Safe to repeat under the same key. */
  send(runId: string, message: NewMessage, idempotencyKey?: string): Promise<void>;
  /** To the run's workflow, which gets it where it waits for it. Safe to repeat under the same key. */
  signal(
    runId: string,
    signal: { readonly signal: string; readonly value: Json },
    idempotencyKey?: string,
  ): Promise<void>;
}

export const createClient = (options: TransportOptions): Client => clientOver(createTransport(options));

const once = (key: string = crypto.randomUUID()) => ({ "idempotency-key": key });
const of = (runId: string): string => `/runs/${encodeURIComponent(runId)}`;
const letter = (id: string): string => `/dead-letters/${encodeURIComponent(id)}`;
const given = (query: Query | undefined) => (query === undefined ? {} : { query });

/** What is larger asks first where it may be put: a gateway before the server may take no such request. */
const LARGE_BYTES = 4 * 1024 * 1024;

async function added(
  { ask }: Transport,
  name: string,
  mediaType: string,
  content: Uint8Array<ArrayBuffer> | Blob,
): Promise<FileInfo> {
  const headers = { "content-type": mediaType };
  const bytes = content instanceof Blob ? content.size : content.byteLength;
  const { upload } =
    bytes > LARGE_BYTES
      ? await ask<{ upload: Upload | null }>("POST", "/uploads", { body: { bytes } })
      : { upload: null };
  if (upload === null) return await ask("POST", "/files", { query: { name }, content, headers });
  await put(upload.url, content, upload.expiresInMs);
  return await ask("POST", "/files", { query: { name, upload: upload.id }, headers });
}

/** Of a transport of one's own: a command line's, whose errors are its own. */
export function clientOver(transport: Transport): Client {
  const { ask } = transport;
  const read = <T>(path: string, query?: Query): Promise<T> => ask<T>("GET", path, given(query));
  const tell = async (path: string, body: unknown, headers: Readonly<Record<string, string>> = {}): Promise<void> =>
    void (await ask("POST", path, { body, headers }));
  const drop = async (path: string): Promise<void> => void (await ask("DELETE", path));
  const client: Client = {
    url: transport.url,
    ask: (method, path, body) => ask(method, path, body === undefined ? {} : { body }),
    healthy: () => isHealthy(transport),
    agents: async () => (await read<{ agents: AgentJson[] }>("/agents")).agents,
    addFile: (name, mediaType, content) => added(transport, name, mediaType, content),
    files: (query) => read("/files", query),
    removeFile: (id) => drop(`/files/${encodeURIComponent(id)}`),
    start: (run, key) => ask("POST", "/runs", { body: run, headers: once(key) }),
    list: (query) => read("/runs", query),
    run: (runId) => read(of(runId)),
    wait: (runId, wanted) => waitFor(client, runId, wanted),
    turns: (runId, query) => read(`${of(runId)}/turns`, query),
    events: (runId, query, signal) =>
      ask("GET", `${of(runId)}/events`, { ...given(query), ...(signal === undefined ? {} : { signal }) }),
    watch: (runId, query, signal) => watched(transport, runId, query, signal),
    cancel: (runId, reason) => tell(`${of(runId)}/cancel`, reason === undefined ? {} : { reason }),
    resume: (runId, decision) => tell(`${of(runId)}/resume`, decision ?? {}),
    retry: (runId, retry) => tell(`${of(runId)}/retry`, retry ?? {}),
    fork: (runId, fork, key) => ask("POST", `${of(runId)}/fork`, { body: fork ?? {}, headers: once(key) }),
    export: (runId, after) => exported(transport, runId, after ?? ""),
    erase: (runId) => drop(of(runId)),
    prune: (request) => ask("POST", "/prune", { body: request }),
    deadLetters: (query) => read("/dead-letters", query),
    deadLetter: (id) => read(letter(id)),
    sendDeadLetter: (id) => tell(`${letter(id)}/send`, {}),
    dropDeadLetter: (id) => drop(letter(id)),
    approve: (runId, decision) => tell(`${of(runId)}/approvals`, decision),
    send: (runId, message, key) => tell(`${of(runId)}/messages`, message, once(key)),
    signal: (runId, signal, key) => tell(`${of(runId)}/signals`, signal, once(key)),
  };
  return client;
}

const HEALTH_TIMEOUT_MS = 2_000;

async function isHealthy({ ask }: Transport): Promise<boolean> {
  const signal = AbortSignal.timeout(HEALTH_TIMEOUT_MS);
  return await ask<{ status?: string }>("GET", "/healthz", { signal }).then(
    ({ status }) => status === "ok",
    () => false,
  );
}

const WAITS: readonly RunJson["status"][] = ["waitingApproval", "waitingCut", "awaitingInput", "waitingSignal"];
const stands = (run: RunJson): boolean => run.endedAt !== null || WAITS.includes(run.status);
/** The longest that the server waits for an event, in seconds. */
const POLL_S = 20;
/** Between two readings of a run whose log grows all the time. */
const READ_MS = 300;

async function waitFor(client: Client, runId: string, { until = stands, signal }: WaitOptions = {}): Promise<RunJson> {
  for (let after = "", wait = 0; ; wait = POLL_S) {
    const page = await client.events(runId, { after, wait }, signal);
    after = page.next;
    if (page.more) continue;
    const run = await client.run(runId);
    if (until(run) || run.endedAt !== null) return run;
    if (page.events.length > 0) await new Promise((resolve) => setTimeout(resolve, READ_MS));
    signal?.throwIfAborted();
  }
}

async function* watched(
  { open, ask, url }: Transport,
  runId: string,
  query: Query | undefined,
  signal: AbortSignal | undefined,
): AsyncGenerator<StreamItem> {
  const init = { headers: { accept: "text/event-stream" }, ...(signal === undefined ? {} : { signal }) };
  const response = await open(`${of(runId)}/events${searchOf(query)}`, init);
  if (response.body !== null && /event-stream/.test(response.headers.get("content-type") ?? ""))
    try {
      yield* itemsOf(response.body);
    } catch (e) {
      throw unreachable(url, e, signal); // it broke off
    }
  else {
    const page = await ask<Page>("GET", `${of(runId)}/events`, given(query)); // a server that doesn't stream
    for (const [i, event] of page.events.entries())
      yield { type: "event", event, after: i === page.events.length - 1 ? page.next : null };
  }
}

async function exported({ text, url }: Transport, runId: string, after: string) {
  const lines = (await text(`${of(runId)}/export`, { query: { after } })).trimEnd().split("\n");
  const last = lines.pop() ?? "";
  if (last.startsWith('{"next":')) return { lines, next: (JSON.parse(last) as { next: string | null }).next };
  throw new ApiError(0, { detail: `The server at ${url} broke off in the middle of a page.` });
}
