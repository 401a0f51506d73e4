// Streams in outline, as far as they were read: kept, so that a second reading only fetches what is new.
import type { OutlinePage } from "../shared/http/inspect.ts";
import { get } from "./api.ts";
import type { Outlined } from "./model/steps.ts";

const kept = new Map<string, { events: Outlined[]; next: number }>();
const KEPT_STREAMS = 64;

async function fetchOutline(runId: string, stream: string, signal: AbortSignal): Promise<readonly Outlined[]> {
  const key = `${runId} ${stream}`;
  let known = kept.get(key) ?? { events: [], next: 0 };
  for (let more = true; more; ) {
    const page = await get<OutlinePage>(`runs/${runId}/outline`, { stream, after: known.next }, signal);
    if (page.events.length > 0) known = { events: [...known.events, ...page.events], next: page.next };
    more = page.more;
  }
  kept.delete(key);
  kept.set(key, known);
  for (const oldest of kept.keys()) {
    if (kept.size <= KEPT_STREAMS) break;
    kept.delete(oldest);
  }
  return known.events;
}

const underWay = new Map<string, Promise<readonly Outlined[]>>();

/** Who asks while it is being read waits for that, and then for what is new. */
export async function readOutline(runId: string, stream: string, signal: AbortSignal): Promise<readonly Outlined[]> {
  const key = `${runId} ${stream}`;
  await underWay.get(key)?.catch(() => {});
  const reading = fetchOutline(runId, stream, signal);
  underWay.set(key, reading);
  return await reading.finally(() => {
    if (underWay.get(key) === reading) underWay.delete(key);
  });
}

/** What nearly every run has: read beside the run, not after it. Whoever needs it says what went wrong. */
export function readAhead(runId: string, signal: AbortSignal): void {
  for (const stream of ["run", "task:w0t0"]) void readOutline(runId, stream, signal).catch(() => {});
}
