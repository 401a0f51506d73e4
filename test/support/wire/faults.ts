// What happens to answers on their way, whatever provider they are of: nothing comes, something else comes, it breaks off. What a provider says itself
// (throttling, an error in a stream) belongs to its own server.
import type { ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";

export type HttpFault =
  /** No answer, ever; the connection stays open. */
  | { readonly fault: "hang" }
  /** The connection is dropped before an answer. */
  | { readonly fault: "reset" }
  /** A page of a proxy or a login; status 200 if not given. */
  | { readonly fault: "html"; readonly status?: number }
  /** Headers and no body; status 200 if not given. */
  | { readonly fault: "empty"; readonly status?: number; readonly contentType?: string }
  /** Some of the answer's pieces, then the connection is dropped (`cut`), ends as if it were whole (`ends`), or stays silent (`stalls`). */
  | { readonly fault: "cut" | "ends" | "stalls"; readonly after: number }
  /** Whole, with a pause before each of its pieces. */
  | { readonly fault: "slow"; readonly everyMs: number };

const PAGE = "<!doctype html><html><head><title>503</title></head><body><h1>Service is down</h1></body></html>";

/** Plays a fault that needs nothing of the answer. False: it does. */
export function playEarly(fault: HttpFault, response: ServerResponse): boolean {
  switch (fault.fault) {
    case "hang":
      return true;
    case "reset":
      response.destroy();
      return true;
    case "html":
      response.writeHead(fault.status ?? 200, { "content-type": "text/html; charset=utf-8" }).end(PAGE);
      return true;
    case "empty":
      response.writeHead(
        fault.status ?? 200,
        fault.contentType === undefined ? {} : { "content-type": fault.contentType },
      );
      response.end();
      return true;
    default:
      return false;
  }
}

/** Sends an answer in pieces, as far as the fault lets it. True: it went out whole. */
export async function sendPieces(
  response: ServerResponse,
  pieces: Iterable<Uint8Array | string>,
  fault: HttpFault | null,
): Promise<boolean> {
  const most = fault !== null && "after" in fault ? fault.after : Number.POSITIVE_INFINITY;
  let sent = 0;
  let broken = false;
  for (const piece of pieces) {
    if (fault?.fault === "slow") await sleep(fault.everyMs);
    broken = sent++ >= most || response.destroyed;
    if (broken) break;
    if (!response.write(piece)) await drained(response);
  }
  if (fault?.fault === "cut") {
    await sleep(20); // what was written is on its way before the connection goes
    response.destroy();
  } else if (fault?.fault !== "stalls") response.end();
  return !broken && !response.destroyed && response.writableEnded;
}

/** Small events go out cut in two, as networks do it: within a character too. A fault's `after` counts these halves. */
export function* halved(events: Iterable<string>): Generator<Uint8Array> {
  for (const event of events) {
    const bytes = Buffer.from(event);
    const cut = bytes.length < 4_096 ? Math.floor(bytes.length / 2) : 0;
    if (cut > 0) yield bytes.subarray(0, cut);
    yield bytes.subarray(cut);
  }
}

function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      response.off("drain", done).off("close", done);
      resolve();
    };
    response.on("drain", done).on("close", done);
  });
}

/** One fault after the other, then none. */
export function inOrder<F>(...faults: readonly (F | null)[]): () => F | null {
  let n = 0;
  return () => faults[n++] ?? null;
}
