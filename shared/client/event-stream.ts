// A run's server-sent events, as the server writes them (shared/http/event-streams.ts).
import type { PageEvent } from "../http/events-page.ts";
import type { LivePiece } from "../ports/live.ts";

export type StreamItem =
  /** `after`: where to take the log up again behind this event; null: it is one of several that came together, the last of which says so. */
  | { readonly type: "event"; readonly event: PageEvent; readonly after: string | null }
  | { readonly type: "delta"; readonly piece: LivePiece }
  | { readonly type: "end" };

/** To the stream's end. Comments are passed over. */
export async function* itemsOf(body: ReadableStream<Uint8Array>): AsyncGenerator<StreamItem> {
  let rest = "";
  const decoder = new TextDecoder();
  for await (const chunk of body) {
    const blocks = (rest + decoder.decode(chunk, { stream: true })).split("\n\n");
    rest = blocks.pop() ?? "";
    for (const block of blocks) {
      const item = itemOf(block);
      if (item !== null) yield item;
    }
  }
}

function itemOf(block: string): StreamItem | null {
  const name = /^event: (.*)$/m.exec(block)?.[1];
  const data = /^data: (.*)$/m.exec(block)?.[1];
  if (name === undefined || data === undefined) return null;
  if (name === "end") return { type: "end" };
  const value: unknown = JSON.parse(data);
  if (name === "delta") return { type: "delta", piece: value as LivePiece };
  return { type: "event", event: value as PageEvent, after: /^id: (.*)$/m.exec(block)?.[1] ?? null };
}
