import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { createLiveText } from "../../../local/client/live-text.ts";
import { itemsOf, type StreamItem } from "../../../shared/client/event-stream.ts";
import type { PageEvent } from "../../../shared/http/events-page.ts";
import type { LivePiece } from "../../../shared/ports/live.ts";

const TASK = "task:w0t0";
const piece = (call: number, at: number, text: string, more: Partial<LivePiece> = {}): LivePiece => ({
  stream: TASK,
  stepId: "s0",
  call,
  attempt: 0,
  type: "text",
  at,
  text,
  ...more,
});
const event = (seq: number, type: string): PageEvent => ({ stream: TASK, seq, type, recordedAt: "", payload: {} });
const shown = (pieces: readonly LivePiece[]): string | undefined => {
  const live = createLiveText();
  for (const one of pieces) live.take(one);
  return live.now()[0]?.text;
};

describe("what models say right now", () => {
  test("however pieces are doubled, late or sent again from the beginning, it is what was said so far", () => {
    const said = "All of it, and more.";
    const pieces = [...said].map((letter, at) => piece(2, at, letter));
    fc.assert(
      fc.property(fc.array(fc.nat(said.length - 1)), (again) => {
        const order = [...pieces, ...again.map((i) => pieces[i] as LivePiece), piece(2, 0, said.slice(0, 7))];
        expect(shown(order)).toBe(said);
      }),
    );
    fc.assert(
      fc.property(fc.shuffledSubarray(pieces), (some) => {
        expect(said.startsWith(shown(some) ?? "")).toBe(true); // with a gap it waits
      }),
    );
  });

  test("a new attempt, or a new call, is a new beginning; nothing of an older one is heard any more", () => {
    const live = createLiveText();
    live.take(piece(2, 0, "Wrong"));
    live.take(piece(2, 0, "", { attempt: 1, type: "restart" }));
    expect(live.now()).toEqual([]);
    live.take(piece(2, 5, " still"));
    live.take(piece(2, 0, "Right", { attempt: 1 }));
    expect(live.now()[0]?.text).toBe("Right");
    live.take(piece(5, 0, "Heir"));
    live.take(piece(2, 5, " zombie", { attempt: 1 }));
    expect(live.now()[0]?.text).toBe("Heir");
  });

  test("what is on record is over, and gone with what follows; late pieces of it bring nothing back", () => {
    const live = createLiveText();
    live.take(piece(2, 0, "I look it up."));
    live.recorded([event(3, "LlmCallCompleted")]);
    expect(live.now()).toMatchObject([{ text: "I look it up.", over: true }]);
    live.recorded([event(4, "ToolCallStarted")]);
    live.take(piece(2, 13, " Late."));
    expect(live.now()).toEqual([]);
    live.take(piece(6, 0, "Try"));
    live.recorded([event(7, "LlmCallFailed")]);
    expect(live.now()).toEqual([]);
  });
});

test("a stream of events is read however it is cut", async () => {
  const text = [
    ": nothing yet",
    `id: 1\nevent: TaskStarted\ndata: ${JSON.stringify(event(1, "TaskStarted"))}`,
    `event: delta\ndata: ${JSON.stringify(piece(2, 0, "é 😀\n\ndata: no"))}`,
    "event: end\ndata: {}\n\n",
  ].join("\n\n");
  const bytes = new TextEncoder().encode(text);
  for (const size of [1, 7, 1_000]) {
    const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) =>
      bytes.slice(i * size, (i + 1) * size),
    );
    const items: StreamItem[] = [];
    for await (const item of itemsOf(ReadableStream.from(chunks) as ReadableStream<Uint8Array>)) items.push(item);
    expect(items.map(({ type }) => type)).toEqual(["event", "delta", "end"]);
    expect(items[1]).toMatchObject({ piece: { text: "é 😀\n\ndata: no" } });
  }
});
