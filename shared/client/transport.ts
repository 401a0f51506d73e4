// One request of the HTTP API and its answer: the address, the key, time-outs, and what a refusal is made into. Web standards alone, so that it runs in a
// browser as it does in Node; what it takes of the server are types.
import type { ErrorCode } from "../core/errors.ts";
import type { Place, Problem } from "../http/problems.ts";

/** What the server said no to, or that it can't be reached (`status` 0, code `server.unreachable`). */
export class ApiError extends Error {
  override readonly name = "ApiError";
  /** Of HTTP; 0: nobody answered. */
  readonly status: number;
  /** docs/reference/errors.md explains each. A server of a later version may have others. */
  readonly code: ErrorCode;
  /** The same request can succeed later. */
  readonly retryable: boolean;
  /** Which places of the request were wrong. */
  readonly errors: readonly Place[];
  constructor(status: number, problem: Partial<Problem> & { readonly detail: string }, cause?: unknown) {
    super(problem.detail, cause === undefined ? {} : { cause });
    this.status = status;
    this.code = problem.code ?? "server.unreachable";
    this.retryable = problem.retryable ?? false;
    this.errors = problem.errors ?? [];
  }
}

export interface TransportOptions {
  /** Of the server, with a stage's path where it has one; "": where the page is that asks. */
  readonly url: string;
  /** An API key, `toren_…`; a function where it may change. */
  readonly key: string | (() => string | null);
  /** Milliseconds that a request may take, but for `open`; it should be longer than any long poll. Default: 60,000. */
  readonly timeoutMs?: number;
  /** Beside what every request is sent with. Default: nothing. */
  readonly init?: RequestInit;
}

/** What every method of a client is made of. All reject with `ApiError`; an aborted signal's own reason comes through as it is. */
export interface Transport {
  readonly url: string;
  /** A JSON answer; a body is sent as JSON. */
  ask<T>(method: string, path: string, more?: Asked): Promise<T>;
  /** An answer's text. */
  text(path: string, more?: Asked): Promise<string>;
  /** The response as it is, for answers that are read as they come: without a time-out. */
  open(path: string, init?: RequestInit): Promise<Response>;
}

export type Query = Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>;
export interface Asked {
  /** What is undefined or empty is left out; a list is sent once for each of its values. */
  readonly query?: Query;
  readonly body?: unknown;
  /** Sent as it is, in place of `body`. */
  readonly content?: Uint8Array<ArrayBuffer> | Blob;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

const REQUEST_TIMEOUT_MS = 60_000;

export function createTransport(options: TransportOptions): Transport {
  const base = options.url.replace(/\/+$/, "");
  const address = (path: string): string =>
    base === "" ? path.replace(/^\/+/, "") : `${base}/${path.replace(/^\/+/, "")}`;
  const keyNow = (): string => (typeof options.key === "string" ? options.key : (options.key() ?? ""));
  /** `abort`: the caller's own signal, which a time-out of ours isn't. */
  const fetched = async (path: string, init: RequestInit, abort: AbortSignal | null | undefined): Promise<Response> => {
    const headers = { authorization: `Bearer ${keyNow()}`, ...(init.headers as Record<string, string> | undefined) };
    const response = await fetch(address(path), { ...options.init, ...init, headers }).catch((e: unknown) => {
      throw unreachable(base, e, abort);
    });
    if (response.ok) return response;
    throw await refusal(base, response);
  };
  const send = async (method: string, path: string, more: Asked): Promise<string> => {
    const timeout = AbortSignal.timeout(options.timeoutMs ?? REQUEST_TIMEOUT_MS);
    const signal = more.signal ? AbortSignal.any([timeout, more.signal]) : timeout;
    const init = { method, signal, ...payloadOf(more) };
    const response = await fetched(`${path}${searchOf(more.query)}`, init, more.signal);
    return await response.text().catch((e: unknown) => {
      throw unreachable(base, e, more.signal);
    });
  };
  return {
    url: base,
    open: (path, init = {}) => fetched(path, init, init.signal),
    text: (path, more = {}) => send("GET", path, more),
    ask: async <T>(method: string, path: string, more: Asked = {}) => {
      const body = parse(await send(method, path, more));
      if (body !== undefined) return body as T;
      throw new ApiError(0, {
        detail: `${strange(base)}: it answered ${method} ${path} with something else than JSON.`,
      });
    },
  };
}

/** A file to an address that the server gave, which is its own proof: no key goes there. @throws ApiError */
export async function put(url: string, content: Uint8Array<ArrayBuffer> | Blob, timeoutMs: number): Promise<void> {
  const place = URL.parse(url)?.host ?? url;
  const response = await fetch(url, { method: "PUT", body: content, signal: AbortSignal.timeout(timeoutMs) }).catch(
    (e: unknown) => {
      throw new ApiError(0, { detail: `The file can't be put at ${place} (${reasonOf(e)}).`, retryable: true }, e);
    },
  );
  await response.arrayBuffer().catch(() => {});
  if (response.ok) return;
  const detail = `${place} doesn't take the file: it answers ${response.status}. Try again.`;
  throw new ApiError(response.status, { detail, retryable: true });
}

export function searchOf(query: Query = {}): string {
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    value === undefined || value === "" ? [] : [value].flat().map((one): [string, string] => [name, String(one)]),
  );
  return pairs.length === 0 ? "" : `?${new URLSearchParams(pairs)}`;
}

function payloadOf({ body, content, headers = {} }: Asked): Pick<RequestInit, "body" | "headers"> {
  if (content !== undefined) return { body: content, headers };
  if (body === undefined) return { headers };
  return { body: JSON.stringify(body), headers: { "content-type": "application/json", ...headers } };
}

const named = (base: string): string => (base === "" ? "here" : `at ${base}`);
const strange = (base: string): string => `What answers ${named(base)} isn't a Toren server of this version`;

/** What a request ended with that broke off; `abort`: the caller's own signal, whose reason is theirs. */
export function unreachable(base: string, thrown: unknown, abort: AbortSignal | null | undefined): unknown {
  if (abort?.aborted) return thrown;
  return new ApiError(
    0,
    { detail: `No server answers ${named(base)} (${reasonOf(thrown)}).`, retryable: true },
    thrown,
  );
}

/** What node's fetch hides below "fetch failed". */
function reasonOf(thrown: unknown): string {
  const cause = (thrown as { cause?: { code?: unknown } } | null)?.cause;
  if (typeof cause?.code === "string") return cause.code;
  const said = cause ?? thrown;
  return said instanceof Error ? said.message : String(said);
}

async function refusal(base: string, response: Response): Promise<ApiError> {
  const body = parse(await response.text().catch(() => ""));
  const problem = typeof body === "object" && body !== null ? (body as Partial<Problem>) : {};
  const { code, detail } = problem;
  if (code !== undefined) return new ApiError(response.status, { ...problem, detail: detail ?? `${response.status}` });
  const said = detail ?? `it answered ${response.status} without a problem of ours`;
  return new ApiError(response.status, { detail: `${strange(base)}: ${said}.` });
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
