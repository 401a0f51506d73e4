// `toren jobs tail` on a terminal: the log as it grows, and below it what models are saying until that is on record.
import { describe, expect, test } from "@jest/globals";
import type { Saying } from "../../../local/client/live-text.ts";
import { jsonTail, tailScreen } from "../../../local/terminal/tail-screen.ts";
import type { PageEvent } from "../../../shared/http/events-page.ts";

const ESCAPE = "\u001b";

/** What stands on a terminal after all that was written: lines, the block of the moment among them. */
function screen(size: { columns: number; rows: number } | null = { columns: 60, rows: 10 }) {
  const written: string[] = [];
  const out = { write: (text: string) => void written.push(text), size: () => size, colour: false };
  const shown = (): string[] => {
    const lines: string[] = [];
    for (const [i, part] of written.join("").split(`${ESCAPE}[`).entries()) {
      const up = i === 0 ? null : /^(\d+)F/.exec(part);
      if (up !== null) lines.splice(lines.length - Number(up[1]));
      const text = i === 0 ? part : part.replace(/^(\d+F|J)/, "");
      lines.push(...text.split("\n").filter((line) => line !== ""));
    }
    return lines;
  };
  return { out, shown };
}

const event = (seq: number, type: string, stream = "task:w0t0"): PageEvent => ({
  stream,
  seq,
  type,
  recordedAt: "2026-01-02T03:04:05.678Z",
  payload: { stepId: `s${seq}` },
});
const saying = (stream: string, text: string, more: Partial<Saying> = {}): Saying => ({
  stream,
  text,
  reasoning: "",
  over: false,
  ...more,
});

describe("on a terminal", () => {
  test("what a model says stands below the log, grows, and goes when its answer is there", () => {
    const { out, shown } = screen();
    const tail = tailScreen(out, null);
    tail.events([event(1, "LlmCallStarted")]);
    tail.saying([saying("task:w0t0", "Once upon")]);
    tail.saying([saying("task:w0t0", "Once upon a time")]);
    expect(shown()).toEqual([expect.stringContaining("LlmCallStarted"), "w0t0     Once upon a time"]);
    tail.events([event(2, "ToolCallStarted", "task:w0t1")]); // of another one: what is said stays below it
    expect(shown().at(-1)).toBe("w0t0     Once upon a time");
    tail.saying([saying("task:w0t0", "Once upon a time", { over: true })]);
    tail.events([event(3, "LlmCallCompleted")]);
    expect(shown()).toEqual(
      ["LlmCallStarted", "ToolCallStarted", "LlmCallCompleted"].map((type) => expect.stringContaining(type)),
    );
  });

  test("reasoning shows until the first word; of several models each has some lines, and the screen is never passed", () => {
    const { out, shown } = screen({ columns: 30, rows: 8 });
    const tail = tailScreen(out, null);
    tail.saying([saying("task:w0t0", "", { reasoning: "Hm.\n" })]);
    expect(shown()).toEqual(["w0t0     Hm."]);
    tail.saying([saying("task:w0t0", "So.", { reasoning: "Hm." })]);
    expect(shown()).toEqual(["w0t0     So."]);
    const long = "one two three four five six seven eight nine ten ".repeat(20);
    tail.saying([saying("task:w0t0", long), saying("task:w0t1", long)]);
    const lines = shown();
    expect(lines).toHaveLength(6);
    expect(lines.filter((line) => line.startsWith("w0t"))).toHaveLength(2);
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(30);
  });

  test("one stream's tail shows that stream's alone, and nothing is left at the end", () => {
    const { out, shown } = screen();
    const tail = tailScreen(out, "task:w0t1");
    tail.saying([saying("task:w0t0", "not this"), saying("task:w0t1", "this")]);
    expect(shown()).toEqual(["w0t1     this"]);
    tail.rest();
    expect(shown()).toEqual([]);
  });

  test("a model's text can't move the cursor or clear the screen", () => {
    const { out, shown } = screen();
    tailScreen(out, null).saying([saying("task:w0t0", "\u001b[2Jgone")]);
    expect(shown()).toEqual(["w0t0     \u{FFFD}[2Jgone"]);
  });
});

test("in a pipe there is the log alone; as JSON, each event on a line of its own", () => {
  const pipe = screen(null);
  const tail = tailScreen(pipe.out, null);
  tail.saying([saying("task:w0t0", "Once")]);
  tail.events([event(1, "LlmCallStarted")]);
  tail.events([]);
  expect(pipe.shown()).toEqual([expect.stringContaining("LlmCallStarted")]);
  const json = screen(null);
  jsonTail(json.out).events([event(1, "LlmCallStarted"), event(2, "LlmCallCompleted")]);
  jsonTail(json.out).saying([saying("task:w0t0", "Once")]);
  expect(json.shown().map((line) => JSON.parse(line))).toEqual([
    event(1, "LlmCallStarted"),
    event(2, "LlmCallCompleted"),
  ]);
});
