// What is first used is what a replay reads (c11): toJson, and how large a value is.
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { jsonBytes, NotJson, toJson, utf8Bytes } from "../../shared/core/json.ts";
import { JSON_DEPTH_MAX } from "../../shared/core/limits.ts";
import { json, nested, objectOf, text } from "./arbitraries.ts";

const refusal = (value: unknown): { path: string; message: string } => {
  try {
    toJson(value);
  } catch (thrown) {
    if (thrown instanceof NotJson) return { path: thrown.path, message: thrown.message };
    throw thrown;
  }
  throw new Error("it was taken");
};

describe("toJson", () => {
  test("gives every JSON value back, -0 as 0, and the second time the same", () => {
    fc.assert(
      fc.property(json, (value) => {
        const once = toJson(value);
        expect(JSON.stringify(once)).toBe(JSON.stringify(toJson(JSON.parse(JSON.stringify(value)))));
        expect(toJson(once)).toEqual(once);
        expect(JSON.stringify(toJson(once))).toBe(JSON.stringify(once));
      }),
    );
  });

  test.each([
    [{ a: undefined, b: 1 }, { b: 1 }],
    [
      [undefined, 1],
      [null, 1],
    ],
    [undefined, null],
    [
      [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY],
      [null, null, null],
    ],
    [new Date(0), "1970-01-01T00:00:00.000Z"],
    [new Date(Number.NaN), null],
    [new Map([["b", 1], ["a", 2]]), { a: 2, b: 1 }], // biome-ignore format: one line a case
    [new Set([3, new Set(["x"])]), [3, ["x"]]],
    [
      [new String("s"), new Number(1), new Boolean(false)],
      ["s", 1, false],
    ],
    [{ toJSON: () => ({ n: new Date(0) }) }, { n: "1970-01-01T00:00:00.000Z" }],
    [new (class Point { x = 1; #y = 2; get sum() { return this.x + this.#y; } })(), { x: 1 }], // biome-ignore format: one line a case
    [new URL("http://127.0.0.1/a"), "http://127.0.0.1/a"],
    [Object.assign(Object.create(null), { a: 1 }), { a: 1 }],
    [{ [Symbol("s")]: 1, a: 1 }, { a: 1 }],
  ])("of %p is what a replay will read", (value, expected) => {
    expect(toJson(value)).toStrictEqual(expected);
  });

  test("-0 is 0", () => {
    expect(Object.is(toJson(-0), 0)).toBe(true);
    expect(Object.is((toJson({ a: [-0] }) as { a: number[] }).a[0], 0)).toBe(true);
  });

  test("gaps in an array are null", () => {
    const sparse = [1];
    sparse[3] = 4;
    expect(toJson(sparse)).toStrictEqual([1, null, null, 4]);
  });

  test("keys are in one order, integer-like ones first as in any JavaScript object", () => {
    expect(Object.keys(toJson({ b: 1, 10: 2, a: 3, 9: 4, "\uFF5E": 5, "\uD83D\uDE00": 6 }) as object)).toEqual([
      "9",
      "10",
      "a",
      "b",
      "\uD83D\uDE00",
      "\uFF5E",
    ]);
  });

  test("a key __proto__ is data and changes no prototype", () => {
    const value = toJson(JSON.parse('{"__proto__":{"admin":true},"a":1}')) as Record<string, unknown>;
    expect(Object.keys(value)).toEqual(["__proto__", "a"]);
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
    expect(value.admin).toBeUndefined();
    expect(JSON.stringify(value)).toBe('{"__proto__":{"admin":true},"a":1}');
  });

  test("is detached: what its author changes afterwards isn't seen", () => {
    const inner = { n: 1 };
    const original = { list: [inner], map: new Map([["k", inner]]), date: new Date(0) };
    const value = toJson(original);
    inner.n = 2;
    original.list.push({ n: 3 });
    original.map.set("l", inner);
    original.date.setTime(1);
    expect(value).toStrictEqual({ date: "1970-01-01T00:00:00.000Z", list: [{ n: 1 }], map: { k: { n: 1 } } });
  });

  test("the same object twice is no cycle", () => {
    const shared = { a: 1 };
    expect(toJson([shared, { shared }])).toStrictEqual([{ a: 1 }, { shared: { a: 1 } }]);
  });

  const cycle: { self: unknown[] } = { self: [] };
  cycle.self.push(cycle);
  const mapCycle = new Map<string, unknown>();
  mapCycle.set("m", mapCycle);
  test.each([
    ["a BigInt", { rows: [1, { id: 10n }] }, "$.rows[1].id"],
    ["a boxed BigInt", [Object(1n)], "$[0]"],
    ["a function", { rows: [{}, { handler: () => 1 }] }, "$.rows[1].handler"],
    ["a class", [class {}], "$[0]"],
    ["a symbol", { s: Symbol("x") }, "$.s"],
    ["a cycle", cycle, "$.self[0]"],
    ["a cycle of Maps", mapCycle, "$.m"],
    ["a cycle through toJSON", { a: { toJSON: () => cycle } }, "$.a.self[0]"],
    ["a Map with other keys", { m: new Map([[1, 2]]) }, "$.m"],
    ["binary data", { b: Buffer.from("x") }, "$.b"],
    ["a typed array", [new Float64Array(1)], "$[0]"],
    ["an ArrayBuffer", [new ArrayBuffer(1)], "$[0]"],
    ["a promise", { p: Promise.resolve(1) }, "$.p"],
  ])("%s is refused with its path", (_, value, path) => {
    expect(refusal(value).path).toBe(path);
    expect(refusal(value).message).toContain(path);
  });

  test("a toJSON that throws says so itself", () => {
    const value = {
      toJSON: () => {
        throw new Error("not now");
      },
    };
    expect(() => toJson(value)).toThrow("not now");
  });

  test.each([
    ["arrays", (inner: unknown) => [inner], /^\$(\[0\])+$/],
    ["objects", (inner: unknown) => ({ k: inner }), /^\$(\.k)+$/],
  ])("nested %s are taken up to a limit, and refused beyond it with a short message", (_, wrap, path) => {
    const levels = (n: number) => nested(n, wrap as never);
    expect(JSON.stringify(toJson(levels(JSON_DEPTH_MAX)))).toBe(JSON.stringify(levels(JSON_DEPTH_MAX)));
    for (const depth of [JSON_DEPTH_MAX + 1, 10_000, 200_000]) {
      const refused = refusal(levels(depth));
      expect(refused.path).toMatch(path);
      expect(refused.message).toContain(`${JSON_DEPTH_MAX} levels`);
      expect(refused.message.length).toBeLessThan(400);
    }
  });
});

describe("sizes", () => {
  test("utf8Bytes is what UTF-8 takes, lone surrogates as their replacement", () => {
    fc.assert(
      fc.property(text, (value) => expect(utf8Bytes(value)).toBe(Buffer.byteLength(value))),
      { numRuns: 500 },
    );
  });

  test("jsonBytes is the length of the JSON text", () => {
    fc.assert(fc.property(json, (value) => expect(jsonBytes(value)).toBe(Buffer.byteLength(JSON.stringify(value)))));
  });

  test("16 MiB are measured in well under a second", () => {
    const value = objectOf([["text", `${"aé€😀".repeat(1_600_000)}`]]);
    const before = performance.now();
    expect(jsonBytes(value)).toBe(10 * 1_600_000 + '{"text":""}'.length);
    expect(performance.now() - before).toBeLessThan(1_000);
  });
});
