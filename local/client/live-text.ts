// What models are saying right now, put together from pieces that may be lost, late or doubled. Never more than a picture: whatever is recorded replaces it.
import type { PageEvent } from "../../shared/http/events-page.ts";
import type { LivePiece } from "../../shared/ports/live.ts";

export interface LiveText {
  take(piece: LivePiece): void;
  recorded(events: readonly PageEvent[]): void;
  /** By stream, in the order in which they began. Nothing said yet: not among them. */
  now(): readonly Saying[];
}

export interface Saying {
  readonly stream: string;
  readonly text: string;
  readonly reasoning: string;
  /** All of it is on record. */
  readonly over: boolean;
}

interface Heard {
  readonly call: number;
  readonly attempt: number;
  text: string;
  reasoning: string;
  over: boolean;
}

export function createLiveText(): LiveText {
  const streams = new Map<string, Heard>();
  /** By stream, the last end of a call that is on record. */
  const ends = new Map<string, number>();
  return {
    take: ({ stream, call, attempt, type, at, text }) => {
      if (call < (ends.get(stream) ?? 0)) return;
      let heard = streams.get(stream);
      if (heard !== undefined && isOlder({ call, attempt }, heard)) return;
      if (heard === undefined || isOlder(heard, { call, attempt })) {
        heard = { call, attempt, text: "", reasoning: "", over: false };
        streams.delete(stream);
        streams.set(stream, heard);
      }
      if (type === "restart" || at > heard[type].length) return; // something between is missing
      const longer = heard[type].slice(0, at) + text;
      if (longer.length > heard[type].length) heard[type] = longer;
    },
    recorded: (events) => {
      for (const { stream, seq, type } of events) {
        if (type === "LlmCallCompleted" || type === "LlmCallFailed") ends.set(stream, seq);
        const heard = streams.get(stream);
        if (heard === undefined || heard.call >= seq) continue;
        if (type === "LlmCallCompleted") heard.over = true;
        else if (FOLLOWS.test(type)) streams.delete(stream);
      }
    },
    now: () =>
      [...streams].flatMap(([stream, { text, reasoning, over }]) =>
        text === "" && reasoning === "" ? [] : [{ stream, text, reasoning, over }],
      ),
  };
}

/** Something else goes on after these: what was said before is history. */
const FOLLOWS = /^(ToolCall\w+|LlmCall(Started|Failed)|Task(Failed|Cancelled)|StreamInvalidated)$/;

const isOlder = (a: Pick<Heard, "call" | "attempt">, b: Pick<Heard, "call" | "attempt">): boolean =>
  a.call < b.call || (a.call === b.call && a.attempt < b.attempt);
