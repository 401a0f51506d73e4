// A stream of a run as it grows: what is recorded is told at once, and what a model says right now is here. Where the server can't stream, nothing comes, and
// the page lives by asking again and again as it does anyway.
import { useEffect, useRef, useState } from "preact/hooks";
import { open } from "./api.ts";
import {
  type Delta,
  eventReader,
  heard,
  recorded,
  type Saying,
  type SentEvent,
  SILENCE,
} from "./model/event-stream.ts";

const AGAIN_MS = 1_500;

interface Live {
  readonly runId: string;
  readonly stream: string;
  /** The last event that is known already. */
  readonly after: number;
  /** Whether there is anything to hear. */
  readonly on: boolean;
  readonly onRecorded: () => void;
}

export function useLive({ runId, stream, after, on, onRecorded }: Live): Saying {
  const [saying, setSaying] = useState<Saying>(SILENCE);
  const from = useRef(after);
  const tell = useRef(onRecorded);
  tell.current = onRecorded;
  if (!on) from.current = after;
  useEffect(() => {
    if (!on) return;
    const over = new AbortController();
    let asked = 0;
    const take = (event: SentEvent): void => {
      const data = JSON.parse(event.data) as Delta & { readonly seq: number };
      if (event.id !== null && /^\d+$/.test(event.id)) from.current = Number(event.id);
      if (event.name === "delta") {
        setSaying((before) => heard(before, data));
        return;
      }
      if (event.name === "LlmCallStarted") asked = data.seq;
      if (event.name === "LlmCallCompleted" || event.name === "LlmCallFailed") {
        const call = asked;
        setSaying((before) => recorded(before, call));
      }
      tell.current();
    };
    void (async () => {
      while (!over.signal.aborted) {
        const goesOn = await listen(runId, stream, from.current, over.signal, take).catch(() => true);
        if (!goesOn) return;
        await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
      }
    })();
    return () => over.abort();
  }, [runId, stream, on]);
  return saying;
}

/** False: nothing more will come, since the stream has ended or this server doesn't stream. */
async function listen(
  runId: string,
  stream: string,
  after: number,
  signal: AbortSignal,
  take: (event: SentEvent) => void,
): Promise<boolean> {
  const query = new URLSearchParams({ stream, after: String(after) });
  const headers = { accept: "text/event-stream" };
  const response = await open(`runs/${runId}/events?${query}`, { headers, signal });
  if (response.body === null || !response.headers.get("content-type")?.startsWith("text/event-stream")) return false;
  const read = eventReader();
  const text = response.body.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const { done, value } = await text.read();
    if (done) return true;
    for (const event of read(value)) {
      if (event.name === "end") return false;
      take(event);
    }
  }
}
