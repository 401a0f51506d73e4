// A client of the HTTP API: the only way the CLI reaches runs.
import { ERRORS, messageOf, TorenError } from "../../shared/core/errors.ts";
import type { Json } from "../../shared/core/json.ts";
import type { Pruned } from "../../shared/engine/erase-runs.ts";
import type { DeadLetterJson } from "../../shared/http/dead-letters.ts";
import type { Page } from "../../shared/http/events-page.ts";
import type { Problem } from "../../shared/http/problems.ts";
import type { RunJson, RunSummary, TurnsPageJson } from "../../shared/http/run-json.ts";
import type { FileInfo } from "../../shared/ports/files.ts";
import { itemsOf, type StreamItem } from "./event-stream.ts";

export interface AgentJson {
  readonly name: string;
  readonly description: string;
  readonly generation: number;
  readonly processes: readonly string[];
  /** Those of the processes that are conversations. */
  readonly sessions: readonly string[];
  readonly roles: readonly { readonly name: string; readonly model: string; readonly tools: readonly string[] }[];
}

export interface NewRun {
  readonly agent: string;
  readonly process?: string;
  readonly input: Json;
  readonly files: readonly string[];
  /** Labels to find it by. */
  readonly attributes?: Readonly<Record<string, string>>;
}

/** Every method rejects with a TorenError: what the server said, or `server.unreachable`. */
export interface Api {
  readonly url: string;
  /** Any route: of those that have no method of their own here. */
  ask<T>(method: string, path: string, body?: unknown): Promise<T>;
  healthy(): Promise<boolean>;
  agents(): Promise<readonly AgentJson[]>;
  addFile(name: string, mediaType: string, content: Uint8Array<ArrayBuffer>): Promise<FileInfo>;
  files(query: Readonly<Record<string, string>>): Promise<FilesPageJson>;
  removeFile(id: string): Promise<void>;
  /** Safe to repeat under the same key. */
  start(run: NewRun, idempotencyKey: string): Promise<{ readonly runId: string; readonly agent: string }>;
  list(
    query: Readonly<Record<string, string>>,
  ): Promise<{ readonly runs: readonly RunSummary[]; readonly next: string | null }>;
  run(runId: string): Promise<RunJson>;
  /** What was said in a session, a page at a time from its end. */
  turns(runId: string, query: Readonly<Record<string, string>>): Promise<TurnsPageJson>;
  events(runId: string, query: Readonly<Record<string, string>>, signal?: AbortSignal): Promise<Page>;
  /** The log after `query.after`, and what models say while they say it, until the run or the server ends, or the signal aborts. */
  watch(runId: string, query: Readonly<Record<string, string>>, signal: AbortSignal): AsyncIterable<StreamItem>;
  cancel(runId: string, reason?: string): Promise<void>;
  resume(runId: string, decision?: CutDecision): Promise<void>;
  retry(runId: string, retry: Retry): Promise<void>;
  /** Safe to repeat under the same key. */
  fork(runId: string, fork: Fork, idempotencyKey: string): Promise<{ readonly runId: string; readonly agent: string }>;
  /** A page of an export: its lines, and where the next one begins. */
  export(
    runId: string,
    after: string | null,
  ): Promise<{ readonly lines: readonly string[]; readonly next: string | null }>;
  erase(runId: string): Promise<void>;
  prune(request: { readonly agent: string; readonly olderThan: string; readonly dryRun: boolean }): Promise<Pruned>;
  deadLetters(query: Readonly<Record<string, string>>): Promise<DeadLettersPageJson>;
  deadLetter(id: string): Promise<DeadLetterJson>;
  sendDeadLetter(id: string): Promise<void>;
  dropDeadLetter(id: string): Promise<void>;
  approve(runId: string, decision: CallDecision): Promise<void>;
  /** Safe to repeat under the same key. */
  send(runId: string, message: NewMessage, idempotencyKey: string): Promise<void>;
  /** Safe to repeat under the same key. */
  signal(runId: string, signal: { signal: string; value: Json }, idempotencyKey: string): Promise<void>;
}

export interface FilesPageJson {
  readonly files: readonly (FileInfo & { readonly createdAt: string })[];
  readonly next: string | null;
}
export interface DeadLettersPageJson {
  readonly deadLetters: readonly DeadLetterJson[];
  readonly next: string | null;
}
export interface CutDecision {
  readonly decision: "rerun" | "keep";
  readonly by: string;
}
export interface Fork {
  readonly from?: string;
  readonly rerun: boolean;
  readonly by: string;
}
export interface Retry {
  readonly by: string;
  readonly limits?: { readonly maxCostUsd?: number; readonly totalTokens?: number };
}
export interface CallDecision {
  readonly granted: boolean;
  readonly call?: string;
  readonly comment?: string;
  readonly by: string;
}
export interface NewMessage {
  readonly text?: string;
  readonly close?: boolean;
  readonly steer?: boolean;
}

/** Longer than any long poll, so that only a dead server meets it. */
const REQUEST_TIMEOUT_MS = 60_000;
const HEALTH_TIMEOUT_MS = 2_000;

export function createApi(url: string, key: string): Api {
  const base = url.replace(/\/+$/, "");
  const ask = async <T>(path: string, init: RequestInit = {}, read: (text: string) => unknown = parse): Promise<T> => {
    const headers = { authorization: `Bearer ${key}`, ...(init.headers as Record<string, string> | undefined) };
    const timeout = AbortSignal.timeout(REQUEST_TIMEOUT_MS);
    const signal = init.signal ? AbortSignal.any([timeout, init.signal]) : timeout;
    return answerOf<T>(base, () => fetch(`${base}${path}`, { ...init, headers, signal }), read);
  };
  const post = <T>(path: string, body: unknown, headers: Record<string, string> = {}): Promise<T> =>
    ask<T>(path, {
      method: "POST",
      body: JSON.stringify(body),
      headers: { "content-type": "application/json", ...headers },
    });
  const letter = (id: string): string => `/dead-letters/${encodeURIComponent(id)}`;
  const of = (runId: string): string => `/runs/${encodeURIComponent(runId)}`;

  return {
    url: base,
    ask: (method, path, body) =>
      ask(path, {
        method,
        ...(body === undefined ? {} : { body: JSON.stringify(body), headers: { "content-type": "application/json" } }),
      }),
    healthy: () => isHealthy(base),
    agents: async () => (await ask<{ agents: AgentJson[] }>("/agents")).agents,
    addFile: (name, mediaType, content) =>
      ask(`/files?name=${encodeURIComponent(name)}`, {
        method: "POST",
        body: content,
        headers: { "content-type": mediaType },
      }),
    files: (query) => ask(`/files?${new URLSearchParams(query)}`),
    removeFile: async (id) => void (await ask(`/files/${encodeURIComponent(id)}`, { method: "DELETE" })),
    start: (run, idempotencyKey) => post("/runs", run, { "idempotency-key": idempotencyKey }),
    list: (query) => ask(`/runs?${new URLSearchParams(query)}`),
    run: (runId) => ask(of(runId)),
    turns: (runId, query) => ask(`${of(runId)}/turns?${new URLSearchParams(query)}`),
    events: (runId, query, signal) =>
      ask(`${of(runId)}/events?${new URLSearchParams(query)}`, signal ? { signal } : {}),
    watch: (runId, query, signal) =>
      streamOf(base, () =>
        fetch(`${base}${of(runId)}/events?${new URLSearchParams(query)}`, {
          headers: { authorization: `Bearer ${key}`, accept: "text/event-stream" },
          signal,
        }),
      ),
    cancel: async (runId, reason) => void (await post(`${of(runId)}/cancel`, reason === undefined ? {} : { reason })),
    resume: async (runId, decision) => void (await post(`${of(runId)}/resume`, decision ?? {})),
    retry: async (runId, retry) => void (await post(`${of(runId)}/retry`, retry)),
    erase: async (runId) => void (await ask(of(runId), { method: "DELETE" })),
    prune: (request) => post("/prune", request),
    deadLetters: (query) => ask(`/dead-letters?${new URLSearchParams(query)}`),
    deadLetter: (id) => ask(letter(id)),
    sendDeadLetter: async (id) => void (await post(`${letter(id)}/send`, {})),
    dropDeadLetter: async (id) => void (await ask(letter(id), { method: "DELETE" })),
    fork: (runId, fork, idempotencyKey) => post(`${of(runId)}/fork`, fork, { "idempotency-key": idempotencyKey }),
    export: async (runId, after) => {
      const path = `${of(runId)}/export?${new URLSearchParams({ after: after ?? "" })}`;
      const lines = (await ask<string>(path, {}, (text) => text)).trimEnd().split("\n");
      const last = parse(lines.pop() ?? "") as { readonly next?: string | null } | undefined;
      if (last?.next !== undefined) return { lines, next: last.next };
      throw new TorenError("server.unreachable", `The server at ${base} broke off in the middle of a page.`);
    },
    approve: async (runId, decision) => void (await post(`${of(runId)}/approvals`, decision)),
    send: async (runId, message, idempotencyKey) =>
      void (await post(`${of(runId)}/messages`, message, { "idempotency-key": idempotencyKey })),
    signal: async (runId, signal, idempotencyKey) =>
      void (await post(`${of(runId)}/signals`, signal, { "idempotency-key": idempotencyKey })),
  };
}

export async function isHealthy(url: string): Promise<boolean> {
  try {
    const response = await fetch(`${url.replace(/\/+$/, "")}/healthz`, {
      signal: AbortSignal.timeout(HEALTH_TIMEOUT_MS),
    });
    return response.ok && ((await response.json()) as { status?: string }).status === "ok";
  } catch {
    return false;
  }
}

async function* streamOf(base: string, send: () => Promise<Response>): AsyncGenerator<StreamItem> {
  const response = await send().catch((e) => {
    throw new TorenError("server.unreachable", `No server answers at ${base} (${reasonOf(e)}).`, { cause: e });
  });
  if (response.body !== null && /event-stream/.test(response.headers.get("content-type") ?? ""))
    yield* itemsOf(response.body);
  else await answerOf(base, async () => response); // a problem: it throws what the server says
}

async function answerOf<T>(
  base: string,
  send: () => Promise<Response>,
  read: (text: string) => unknown = parse,
): Promise<T> {
  let response: Response;
  let text: string;
  try {
    response = await send();
    text = await response.text();
  } catch (e) {
    throw new TorenError("server.unreachable", `No server answers at ${base} (${reasonOf(e)}).`, { cause: e });
  }
  const body = response.ok ? read(text) : parse(text);
  if (response.ok && body !== undefined) return body as T;
  throw failureOf(base, response, body);
}

/** What node's fetch hides below "fetch failed". */
function reasonOf(thrown: unknown): string {
  const cause = (thrown as { cause?: { code?: unknown } } | null)?.cause;
  return typeof cause?.code === "string" ? cause.code : messageOf(cause ?? thrown);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function failureOf(base: string, response: Response, body: unknown): TorenError {
  const problem = typeof body === "object" && body !== null ? (body as Partial<Problem>) : {};
  const { code, detail } = problem;
  if (code !== undefined && code in ERRORS) return new TorenError(code, detail ?? `${response.status}`);
  const said = detail ?? `it answered ${response.status} without a problem of ours`;
  return new TorenError("server.unreachable", `What answers at ${base} isn't a Toren server of this version: ${said}.`);
}
