// The API as the page calls it: relative to where the page is, so that a stage's path stays, with the key of this tab.
import { ApiError, createTransport, type Query } from "../shared/client/transport.ts";
import { key, signOut } from "./session.ts";

export { ApiError };

const transport = createTransport({ url: "", key, init: { cache: "no-store", credentials: "omit" } });

/** Who was refused for their key is signed out; what no server answered is said in a page's words. */
async function asked<T>(send: () => Promise<T>): Promise<T> {
  const by = key();
  try {
    return await send();
  } catch (e) {
    if (!(e instanceof ApiError)) throw e;
    if (e.status === 401 && key() === by) signOut(e.message);
    if (e.status !== 0) throw e;
    const detail = "The server doesn't answer. It may be restarting; this page tries again.";
    throw new ApiError(0, { detail }, e);
  }
}

export const get = <T>(path: string, query: Query = {}, signal?: AbortSignal): Promise<T> =>
  asked(() => transport.ask<T>("GET", path, { query, ...(signal === undefined ? {} : { signal }) }));

export const post = <T>(path: string, body: unknown = {}, headers: Record<string, string> = {}): Promise<T> =>
  asked(() => transport.ask<T>("POST", path, { body, headers }));

export const patch = <T>(path: string, body: unknown): Promise<T> =>
  asked(() => transport.ask<T>("PATCH", path, { body }));

export const remove = <T>(path: string): Promise<T> => asked(() => transport.ask<T>("DELETE", path));

export const upload = <T>(path: string, content: Blob): Promise<T> => {
  const headers = { "content-type": content.type || "application/octet-stream" };
  return asked(() => transport.ask<T>("POST", path, { content, headers }));
};

/** Of a request that may be repeated without being done twice. */
export const once = (): Record<string, string> => ({ "idempotency-key": crypto.randomUUID() });

/** The response as it is, for answers that are read as they come. */
export const open = (path: string, init: RequestInit = {}): Promise<Response> =>
  asked(() => transport.open(path, init));
