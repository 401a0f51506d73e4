// The API as the page calls it: relative to where the page is, so that a stage's path stays, with the key of this tab.
import type { Problem } from "../shared/http/problems.ts";
import { key, signOut } from "./session.ts";

/** What the server said no to, or that it can't be reached (`status` 0). */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string;
  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

type Query = Readonly<Record<string, string | number | undefined>>;

export const get = <T>(path: string, query: Query = {}, signal?: AbortSignal): Promise<T> => {
  const given = Object.entries(query).flatMap(([name, value]) =>
    value === undefined || value === "" ? [] : [[name, String(value)]],
  );
  const search = given.length === 0 ? "" : `?${new URLSearchParams(given)}`;
  return ask<T>(`${path}${search}`, signal === undefined ? {} : { signal });
};

export const post = <T>(path: string, body: unknown = {}, headers: Record<string, string> = {}): Promise<T> =>
  ask<T>(path, {
    method: "POST",
    body: JSON.stringify(body),
    headers: { "content-type": "application/json", ...headers },
  });

export const patch = <T>(path: string, body: unknown): Promise<T> =>
  ask<T>(path, { method: "PATCH", body: JSON.stringify(body), headers: { "content-type": "application/json" } });

export const remove = <T>(path: string): Promise<T> => ask<T>(path, { method: "DELETE" });

export const upload = <T>(path: string, content: Blob): Promise<T> =>
  ask<T>(path, {
    method: "POST",
    body: content,
    headers: { "content-type": content.type || "application/octet-stream" },
  });

/** Of a request that may be repeated without being done twice. */
export const once = (): Record<string, string> => ({ "idempotency-key": crypto.randomUUID() });

/** The response as it is, for answers that are read as they come. */
export async function open(path: string, init: RequestInit = {}): Promise<Response> {
  const asked = key();
  const headers = { authorization: `Bearer ${asked ?? ""}`, ...(init.headers as Record<string, string> | undefined) };
  let response: Response;
  try {
    response = await fetch(path, { ...init, headers, cache: "no-store", credentials: "omit" });
  } catch (e) {
    if (init.signal?.aborted) throw e;
    throw new ApiError(
      0,
      "server.unreachable",
      "The server doesn't answer. It may be restarting; this page tries again.",
    );
  }
  if (response.ok) return response;
  const problem = (await response.json().catch(() => ({}))) as Partial<Problem>;
  const error = new ApiError(
    response.status,
    problem.code ?? "server.unreachable",
    problem.detail ?? `The server answered with ${response.status}, and didn't say why.`,
  );
  if (response.status === 401 && key() === asked) signOut(error.message);
  throw error;
}

async function ask<T>(path: string, init: RequestInit): Promise<T> {
  return (await (await open(path, init)).json()) as T;
}
