// A final answer against the role's outputSchema: taken out of what models wrap it in, and refused in words that don't change.
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import type { Json } from "../../../shared/core/json.ts";
import { outputCheck } from "../../../shared/core/task/output.ts";
import { json } from "../arbitraries.ts";

const object = { type: "object", properties: { n: { type: "number" }, tags: { type: "array" } }, required: ["n"] };
const check = outputCheck(object);

describe("taking the value out", () => {
  test.each([
    ["bare", '{"n":1}'],
    ["space around", ' \n{"n":1}\n'],
    ["a fence", '```json\n{"n":1}\n```'],
    ["a fence without a language", '```\n{"n":1}\n```'],
    ["a fence in capitals, with other line ends", '```JSON\r\n{"n":1}\r\n```'],
    ["prose before a fence", 'Here it is:\n```json\n{"n":1}\n```\nDone.'],
    ["a fence that never ends", '```json\n{"n":1}'],
    ["prose around", 'The answer is {"n":1}.'],
    ["brackets in the prose before", 'As [1] says: {"n":1}'],
    ["brackets in the prose after", '{"n":1} (see [1])'],
    ["a list in prose before it", 'Of [1,2] I choose {"n":1} indeed'],
    ["a code fence of something else first", '```sh\nls\n```\n{"n":1}'],
  ])("%s", (_, text) => {
    expect(check(text)).toEqual({ ok: true, value: { n: 1 } });
  });

  test("an array in prose is the array, not the object in it", () => {
    const array = outputCheck({ type: "array" });
    expect(array('So: [{"n":1}] it is.')).toEqual({ ok: true, value: [{ n: 1 }] });
    expect(array('[{"n":1},{"n":2}]')).toEqual({ ok: true, value: [{ n: 1 }, { n: 2 }] });
  });

  test("text as such is a value only where it is JSON", () => {
    const string = outputCheck({ type: "string" });
    expect(string('"x"')).toEqual({ ok: true, value: "x" });
    expect(string("x")).toEqual({ ok: false, problems: ["it is not JSON"] });
  });

  test("every JSON value that is valid is taken as it will be kept", () => {
    const any = outputCheck({});
    fc.assert(
      fc.property(json, (value) => {
        const verdict = any(JSON.stringify(value));
        expect(verdict.ok && JSON.stringify(verdict.value)).toBe(JSON.stringify(sorted(value)));
      }),
    );
  });

  test("is judged as it will be kept: a number beyond doubles is null by then", () => {
    expect(check('{"n":1e999}')).toEqual({ ok: false, problems: ["/n must be of type number"] });
  });

  test("an answer nested too deeply is refused, not a crash", () => {
    expect(check(`${"[".repeat(100_000)}${"]".repeat(100_000)}`)).toEqual({ ok: false, problems: ["it is not JSON"] });
  });

  test.each([
    ["newlines after a fence", `\`\`\`${"\n".repeat(300_000)}`],
    ["fences", "```\n".repeat(100_000)],
    ["brackets", `${"[{".repeat(150_000)}`],
    ["space", " ".repeat(500_000)],
  ])("a large answer of %s is judged in linear time", (_, text) => {
    const before = performance.now();
    expect(check(text).ok).toBe(false);
    expect(performance.now() - before).toBeLessThan(1_000);
  });
});

describe("what is wrong, in words that replays depend on", () => {
  test.each<[Json, string, string[]]>([
    [object, "sorry", ["it is not JSON"]],
    [object, "", ["it is not JSON"]],
    [object, "{}", ['the value lacks "n"']],
    [object, '{"n":"1"}', ["/n must be of type number"]],
    [object, "[]", ["the value must be of type object"]],
    [{ type: ["string", "null"] }, "1", ["the value must be of type string,null"]],
    [{ enum: ["a", "b"] }, '"c"', ['the value must be one of ["a","b"]']],
    [{ const: 7 }, "8", ["the value must be 7"]],
    [{ ...object, additionalProperties: false }, '{"n":1,"m":2}', ['the value must not have "m"']],
    [{ type: "array", minItems: 2 }, "[1]", ['the value breaks the rule "minItems" of the schema']],
    [{ items: { required: ["id"] } }, "[{},{}]", ['/0 lacks "id"', '/1 lacks "id"']],
  ])("%j of %j", (schema, text, problems) => {
    expect(outputCheck(schema)(text)).toEqual({ ok: false, problems });
  });

  test("at most eight are named", () => {
    const verdict = outputCheck({ items: { type: "string" } })(JSON.stringify(Array(20).fill(1)));
    expect(verdict.ok === false && verdict.problems.length).toBe(8);
  });
});

test("a schema that isn't one is refused when it is compiled", () => {
  expect(() => outputCheck({ type: "objekt" })).toThrow();
});

test("an unknown format is let be, without a word on the console", () => {
  expect(outputCheck({ type: "string", format: "haiku" })('"x"').ok).toBe(true);
});

function sorted(value: Json): Json {
  if (Array.isArray(value)) return value.map(sorted);
  if (value === null || typeof value !== "object") return Object.is(value, -0) ? 0 : value;
  const entries = Object.entries(value).map(([key, item]) => [key, sorted(item)] as const);
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
}
