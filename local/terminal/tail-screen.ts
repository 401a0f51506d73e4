// A run's log on the screen, line by line; below it, on a terminal, what models are saying right now.
import type { PageEvent } from "../../shared/http/events-page.ts";
import type { Saying } from "../client/live-text.ts";
import { createBlock, lastLines } from "./block.ts";
import { eventLine, STREAM_COLUMNS, streamName } from "./event-line.ts";
import { styleOf } from "./style.ts";
import type { Output } from "./terminal.ts";

export interface TailScreen {
  events(events: readonly PageEvent[]): void;
  saying(saying: readonly Saying[]): void;
  /** Nothing is left below the log. */
  rest(): void;
}

/** Of several models that speak at once, each has so many lines. */
const LINES_EACH = 4;

export function tailScreen(out: Output, stream: string | null): TailScreen {
  const style = styleOf(out);
  const block = createBlock(out);
  let now: readonly Saying[] = [];
  const draw = (): void => {
    const size = out.size();
    if (size === null) return;
    const room = size.columns - STREAM_COLUMNS - 1;
    const shown = now.length === 1 ? size.rows - 2 : LINES_EACH;
    const lines = now.flatMap(({ stream: of, text, reasoning }) => {
      const said =
        text === "" ? lastLines(reasoning.trimEnd(), room, LINES_EACH).map(style.dim) : lastLines(text, room, shown);
      return said.map((line, i) => `${style.cyan((i === 0 ? streamName(of) : "").padEnd(STREAM_COLUMNS))} ${line}`);
    });
    block.draw(lines.slice(0, size.rows - 2));
  };
  return {
    events: (events) => {
      if (events.length === 0) return;
      block.erase();
      for (const event of events) out.write(`${eventLine(event, style, out.size()?.columns ?? null)}\n`);
      draw();
    },
    saying: (saying) => {
      now = saying.filter((one) => !one.over && (stream === null || one.stream === stream));
      draw();
    },
    rest: () => {
      now = [];
      block.erase();
    },
  };
}

export const jsonTail = (out: Output): TailScreen => ({
  events: (events) => {
    for (const event of events) out.write(`${JSON.stringify(event)}\n`);
  },
  saying: () => {},
  rest: () => {},
});
