import { describe, expect, test } from "@jest/globals";
import type { Json } from "../../../shared/core/json.ts";
import { PAYLOAD_MAX_BYTES } from "../../../shared/core/limits.ts";
import { type Bench, completed, event, fresh, uuid, wave } from "./bench.ts";

const text = (bytes: number): string => "x".repeat(bytes);
const EXACT: readonly [string, Json][] = [
  ["c1: U+0000 in text", "a\u0000b"],
  ["c1: the literal six characters", "a\\u0000b"],
  ["c1: U+0000 in a key", { "k\u0000": { "\u0000": "\u0000" } }],
  ["c2: lone surrogates", ["\ud83d", "\ude00", "a\ud83db", "\ud83d\ude00"]],
  ["text that looks escaped", ["\ue0ff0000", "\ue0ff", "\ue0ffe0ff", "\ue0ffblob"]],
  ["c19: numbers", [1, 1e21, 1.0, 5e-324, 1.7976931348623157e308, -1.5, 0.1, 9007199254740991, 123456789012345680000]],
  [
    "quotes, backslashes, braces and what array literals are made of",
    ['{"a","b"}', "\\", '"', "NULL", "{}", ",", "\n\t"],
  ],
  ["a key named __proto__", JSON.parse('{"__proto__": {"x": 1}}') as Json],
  ["empty things", ["", {}, [], null, false, 0]],
];

export function valueSuite(get: () => Bench): void {
  describe("values", () => {
    test.each(EXACT)("%s come back exactly", async (_, value) => {
      const b = get();
      const stream = b.stream(await b.run({ input: value }));
      const writer = await b.take(stream);
      await writer.write([event("StepCompleted", { value })]);
      const [log] = await b.store.streams.read(stream, 1);
      expect(log?.payload.value).toEqual(value);
      expect((await b.row(stream.runId)).input).toEqual(value);
      await writer.plan(wave(0, 0, { fresh: [fresh("w0t0", value)] }));
      expect((await b.store.tasks.spec(b.stream(stream.runId, "task:w0t0")))?.input).toEqual(value);
      await writer.write([event("RunCompleted", { output: value })], completed(value));
      expect((await b.row(stream.runId)).output).toEqual(value);
    });

    test("c19: keys come back ordered by UTF-16 unit, whatever their order and length were", async () => {
      const b = get();
      const stream = b.stream(await b.run());
      const value = { "\uff5e": 1, b: { zz: 1, y: 2 }, "\ud83d\ude00": 2, aa: 3, "10": 4, "9": 5 };
      await (await b.take(stream)).write([event("StepCompleted", { value })]);
      const [log] = await b.store.streams.read(stream, 1);
      // The engine of the language puts keys that are array indexes first.
      expect(JSON.stringify(log?.payload.value)).toBe(
        '{"9":5,"10":4,"aa":3,"b":{"y":2,"zz":1},"\ud83d\ude00":2,"\uff5e":1}',
      );
    });

    test("a field that is undefined isn't there", async () => {
      const b = get();
      const stream = b.stream(await b.run());
      await (await b.take(stream)).write([event("A", { gone: undefined, here: null })]);
      expect((await b.store.streams.read(stream, 1))[0]?.payload).toEqual({ here: null });
    });

    test.each([262_143, 262_145, 1_100_000, 6_100_000])("c12: a result of %i bytes comes back whole", async (bytes) => {
      const b = get();
      const stream = b.stream(await b.run({ input: text(bytes) }));
      const writer = await b.take(stream);
      await writer.write([event("StepCompleted", { op: 7, value: text(bytes), more: { of: text(1_000) } })]);
      const [log] = await b.store.streams.read(stream, 1);
      expect(log?.payload).toEqual({ op: 7, value: text(bytes), more: { of: text(1_000) } });
      await writer.write([event("RunCompleted", { output: text(bytes) })], completed(text(bytes)));
      const row = await b.row(stream.runId);
      expect([row.input, row.output].map((v) => String(v).length)).toEqual([bytes, bytes]);
    });

    test("c12: 20 MB fail once with size and limit named, and nothing is written", async () => {
      const b = get();
      const stream = b.stream(await b.run());
      const writer = await b.take(stream);
      const refused = {
        code: "payload.too_large",
        message: expect.stringMatching(`2000\\d{4} bytes.*${PAYLOAD_MAX_BYTES}`),
      };
      await expect(
        writer.append([event("A"), event("StepCompleted", { value: text(20_000_000) })]),
      ).rejects.toMatchObject(refused);
      expect(await b.types(stream)).toEqual(["RunCreated"]);
      await writer.write([event("A")]); // the writer goes on
    });

    test("c12: many large results in one append", async () => {
      const b = get();
      const stream = b.stream(await b.run());
      const writer = await b.take(stream);
      const values = Array.from({ length: 12 }, (_, i) => `${i}${text(1_000_000)}`);
      await writer.write(values.map((value) => event("StepCompleted", { value })));
      const log = await b.store.streams.read(stream, 1);
      expect(log.map((e) => e.payload.value === values[e.seq - 2])).toEqual(values.map(() => true));
    });

    test("c1: what requests begin with is kept however large, and however often; past the limit it is refused", async () => {
      const b = get();
      const header = (system: string) => {
        const digest = `d1:${uuid()}`;
        return { digest, model: "m", system, tools: [], options: {}, maxTokens: 1, outputSchema: null };
      };
      for (const one of [header("a\u0000b"), header(text(6_100_000))])
        await Promise.all([b.store, b.other, b.store].map((s) => s.tasks.keepHeader(b.agent, one)));
      await expect(b.store.tasks.keepHeader(b.agent, header(text(20_000_000)))).rejects.toMatchObject({
        code: "payload.too_large",
      });
    });

    test("c12: a wide wave of large inputs, many of them equal", async () => {
      const b = get();
      const runId = await b.run();
      const tasks = Array.from({ length: 60 }, (_, i) => fresh(`w0t${i}`, `${i % 7}${text(200_000)}`));
      await (await b.take(b.stream(runId))).plan(wave(0, 0, { fresh: tasks }));
      for (const i of [0, 13, 59]) {
        const spec = await b.store.tasks.spec(b.stream(runId, `task:w0t${i}`));
        expect(spec?.input === tasks[i]?.input).toBe(true);
      }
    });
  });
}
