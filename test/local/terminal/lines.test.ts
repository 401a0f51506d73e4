import { PassThrough, Readable } from "node:stream";
import type { ReadStream, WriteStream } from "node:tty";
import { describe, expect, test } from "@jest/globals";
import { pipedLines, typedLines } from "../../../local/terminal/lines.ts";

const live = (): AbortSignal => new AbortController().signal;
const line = (text: string) => ({ type: "line", text });

describe("lines of a pipe", () => {
  test("come one by one, whatever pieces they arrive in, and then the end, for ever", async () => {
    const lines = pipedLines(Readable.from([Buffer.from("one\r\ntw"), Buffer.from("o\n\nthr€e")]));
    for (const text of ["one", "two", "", "thr€e"]) expect(await lines.next("", live())).toEqual(line(text));
    for (let i = 0; i < 2; i++) expect(await lines.next("", live())).toEqual({ type: "end" });
  });

  test("an aborted wait loses nothing", async () => {
    const input = new PassThrough();
    const lines = pipedLines(input);
    const abort = new AbortController();
    const waiting = lines.next("", abort.signal);
    abort.abort();
    expect(await waiting).toEqual({ type: "aborted" });
    input.write("later\n");
    expect(await lines.next("", live())).toEqual(line("later"));
  });
});

describe("lines typed at a prompt", () => {
  function terminal() {
    const input = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => input }) as unknown as ReadStream;
    const output = Object.assign(new PassThrough(), { isTTY: true, columns: 80 }) as unknown as WriteStream;
    const interrupts: number[] = [];
    const lines = typedLines(input, output, () => void interrupts.push(1));
    const type = (text: string) => void (input as unknown as PassThrough).write(text);
    return { lines, type, input, interrupts, shown: () => String((output as unknown as PassThrough).read() ?? "") };
  }

  test("Enter ends one, Ctrl-D the input, and Ctrl-C interrupts", async () => {
    const { lines, type, interrupts, shown } = terminal();
    const first = lines.next("› ", live());
    type("hello\r");
    expect(await first).toEqual(line("hello"));
    expect(shown()).toContain("› ");
    const abort = new AbortController();
    const second = lines.next("› ", abort.signal);
    type("\u0003");
    while (interrupts.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    abort.abort();
    expect(await second).toEqual({ type: "aborted" });
    const third = lines.next("› ", live());
    type("\u0004");
    expect(await third).toEqual({ type: "end" });
  });

  test("what was half typed when the prompt was taken away stands at the next one", async () => {
    const { lines, type } = terminal();
    const abort = new AbortController();
    const waiting = lines.next("› ", abort.signal);
    type("half a ");
    await new Promise((resolve) => setTimeout(resolve, 50));
    abort.abort();
    expect(await waiting).toEqual({ type: "aborted" });
    const next = lines.next("› ", live());
    type("thought\r");
    expect(await next).toEqual(line("half a thought"));
  });

  test("a line that was ended isn't taken away with the prompt", async () => {
    const { lines, type, input } = terminal();
    const abort = new AbortController();
    const waiting = lines.next("› ", abort.signal);
    input.once("data", () => abort.abort()); // after the reader has had it: news that come in the same moment
    type("said\r");
    expect(await waiting).toEqual(line("said"));
    const next = lines.next("› ", live());
    type("more\r");
    expect(await next).toEqual(line("more"));
  });

  test("pasted lines are as many", async () => {
    const { lines, type } = terminal();
    const first = lines.next("› ", live());
    type("one\rtwo\rthree\r");
    expect([await first, await lines.next("› ", live()), await lines.next("› ", live())]).toEqual(
      ["one", "two", "three"].map(line),
    );
  });
});
