import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, test } from "@jest/globals";
import { Ajv2020 } from "ajv/dist/2020.js";
import { build } from "esbuild";
import * as z from "zod";
import { defineTool, TorenError } from "../../shared/authoring/index.ts";
import { isTool, ownName, toolDefinition } from "../../shared/authoring/tool.ts";
import type { Json, JsonObject } from "../../shared/core/json.ts";
import { CASES, digests, toolWith } from "./input-schemas.ts";

const ajv = (): Ajv2020 => new Ajv2020({ strict: false, validateFormats: false });

function refusal(define: () => unknown): TorenError {
  try {
    define();
  } catch (thrown) {
    if (thrown instanceof TorenError) return thrown;
    throw thrown;
  }
  throw new Error("nothing was refused");
}

describe("c13: the input schema that a model sees", () => {
  test.each(Object.entries(CASES))(
    "%s: is valid JSON Schema with an object at its root, and agrees with the tool",
    (_name, { input, takes, refuses }) => {
      const tool = toolWith(input);
      const schema = tool.inputSchema as JsonObject;
      expect(ajv().validateSchema(schema)).toBe(true);
      expect(schema.type).toBe("object");
      expect(schema).not.toHaveProperty("$schema");
      const valid = ajv().compile(schema);
      for (const args of takes) expect([args, valid(args), tool.parse(args).ok]).toEqual([args, true, true]);
      for (const args of refuses) expect([args, valid(args), tool.parse(args).ok]).toEqual([args, false, false]);
    },
  );

  test("I6: has the same digest every time, in another process and another time zone too", () => {
    const first = digests();
    expect(digests()).toEqual(first);
    const program = join(import.meta.dirname, "input-schemas.ts");
    const elsewhere = execFileSync(process.execPath, [program], {
      encoding: "utf8",
      env: { ...process.env, TZ: "Pacific/Apia", NODE_OPTIONS: "" },
    });
    expect(JSON.parse(elsewhere)).toEqual(first);
  });

  /** An SDK of a provider's can't change one: a request is digested before an adapter sees it, and the core imports none (`npm run deps`). */
  test("I6: has the same digest under another minor release of zod, so that an upgrade asks nothing anew", () => {
    const [before, program] = ["previous-zod.ts", "input-schemas.ts"].map((name) => join(import.meta.dirname, name));
    const { stdout, stderr } = spawnSync(process.execPath, ["--import", before as string, program as string], {
      encoding: "utf8",
      env: { ...process.env, NODE_OPTIONS: "" },
    });
    const { major, minor } = z.core.version;
    expect(stderr).toMatch(/^\d+\.\d+\.\d+$/);
    expect(stderr.startsWith(`${major}.`)).toBe(true);
    expect(stderr.startsWith(`${major}.${minor}.`)).toBe(false);
    expect(JSON.parse(stdout)).toEqual(digests());
  });
});

describe("what JSON Schema can't say fails when the tool is defined", () => {
  const recursive = z.object({
    get next() {
      return z.object({ at: z.date() });
    },
  });
  test.each<[string, z.ZodObject, string]>([
    ["a Date", z.object({ day: z.date() }), "input.day is a Date"],
    ["a coerced Date", z.object({ day: z.coerce.date() }), "input.day is a Date"],
    ["a BigInt in a list", z.object({ sums: z.array(z.bigint()) }), "input.sums[] is a BigInt"],
    ["a Map in an object", z.object({ a: z.object({ m: z.map(z.string(), z.string()) }) }), "input.a.m is a Map"],
    ["a Set", z.object({ s: z.set(z.string()) }), "input.s is a Set"],
    ["a function", z.object({ f: z.function() as unknown as z.ZodType }), "input.f is a function"],
    ["a symbol", z.object({ s: z.symbol() }), "input.s is a symbol"],
    ["undefined in a union", z.object({ u: z.union([z.string(), z.undefined()]) }), "input.u (form 2) is undefined"],
    ["void", z.object({ v: z.void() }), "input.v is void"],
    ["NaN", z.object({ n: z.nan() }), "input.n is NaN"],
    ["instanceof", z.object({ e: z.instanceof(Error) }), "input.e is a custom type"],
    ["a bare transform", z.object({ t: z.transform((x) => x) }), "input.t is a transform"],
    ["a literal BigInt", z.object({ l: z.literal(1n) }), "input.l is a literal"],
    ["a record's values", z.object({ r: z.record(z.string(), z.date()) }), "input.r.* is a Date"],
    ["a tuple's item", z.object({ t: z.tuple([z.string(), z.date()]) }), "input.t[1] is a Date"],
    ["something behind a getter", recursive, "input.next.at is a Date"],
  ])("%s", (_name, input, place) => {
    const { code, message } = refusal(() => defineTool({ ...plain, name: "book_room", input }));
    expect(code).toBe("agent.invalid");
    expect(message).toContain('tool "book_room": ');
    expect(message).toContain(place);
  });

  test("all places are named at once; without a name the description says which tool", () => {
    const { message } = refusal(() => defineTool({ ...plain, input: z.object({ a: z.date(), b: z.bigint() }) }));
    expect(message).toMatch(/^tool "Does a thing\.": .*input\.a is a Date.*; input\.b is a BigInt/);
  });

  test.each<[string, unknown]>([
    ["a transformed object", z.object({ a: z.string() }).transform((x) => x)],
    ["a text", z.string()],
    ["no schema", undefined],
    ["JSON Schema", { type: "object" }],
  ])("input that is %s", (_name, input) => {
    const { code, message } = refusal(() => defineTool({ ...plain, name: "t", input: input as z.ZodObject }));
    expect(code).toBe("agent.invalid");
    expect(message).toContain("input");
  });
});

const plain = {
  description: "Does a thing.",
  input: z.object({}),
  effects: "none",
  idempotency: "none",
  approval: "never",
  handler: () => null,
} as const;

describe("the definition", () => {
  test.each<[string, object, string]>([
    ["effects are required", { effects: undefined }, "effects: is missing"],
    ["idempotency is one of two", { idempotency: "maybe" }, 'idempotency: must be one of "keyed", "none"'],
    ["a name that a provider would refuse", { name: "book room" }, "name: must match"],
    ["a description of blanks", { description: " " }, "description: must have at least 1 character"],
    ["a time-out of nothing", { timeoutMs: 0 }, "timeoutMs: must be more than 0"],
    ["a time-out past what timers can do", { timeoutMs: 2 ** 31 }, "timeoutMs: must be at most 86400000"],
    ["no try at all", { retry: { attempts: 0, backoffMs: 0 } }, "retry.attempts: must be more than 0"],
    ["a handler that isn't one", { handler: "later" }, "handler: must be a function"],
    ["a key that means nothing", { timeout: 5 }, 'must not have "timeout"'],
  ])("%s", (_name, change, says) => {
    const { code, message } = refusal(() => defineTool({ ...plain, ...change }));
    expect(code).toBe("agent.invalid");
    expect(message).toContain(says);
  });

  test("approval: never, always, or what a function says of the arguments", () => {
    const of = (approval: "never" | "always" | (() => boolean)) =>
      toolDefinition(defineTool({ ...plain, approval }), "t").approval({});
    expect([of("never"), of("always"), of(() => true), of(() => false), of(() => "yes" as never)]).toEqual([
      false,
      true,
      true,
      false,
      false,
    ]);
    expect(refusal(() => defineTool({ ...plain, approval: "sometimes" as "never" })).code).toBe("agent.invalid");
  });

  test("defaults: five minutes, one attempt, the name of the export", () => {
    const tool = defineTool(plain);
    expect(ownName(tool)).toBeNull();
    expect(toolDefinition(tool, "exported")).toMatchObject({
      name: "exported",
      timeoutMs: 300_000,
      retry: { attempts: 1, backoffMs: 0 },
      inputSchema: { type: "object", properties: {} },
    });
  });

  test("two copies of the module agree on what a tool is", async () => {
    const entry = join(import.meta.dirname, "../../shared/authoring/index.ts");
    const { outputFiles } = await build({
      entryPoints: [entry],
      bundle: true,
      write: false,
      format: "esm",
      platform: "node",
    });
    const copy = join(mkdtempSync(join(tmpdir(), "toren-copy-")), "copy.mjs");
    writeFileSync(copy, outputFiles[0]?.contents ?? "");
    const other = (await import(pathToFileURL(copy).href)) as { defineTool: typeof defineTool };
    expect(other.defineTool).not.toBe(defineTool);
    const tool = other.defineTool(plain);
    expect(isTool(tool)).toBe(true);
    expect(toolDefinition(tool, "theirs").parse({})).toEqual({ ok: true, args: {} });
    expect(isTool({ description: "A tool." })).toBe(false);
  });
});

describe("arguments of a model", () => {
  const says = (input: z.ZodObject, args: Json): string => {
    const parsed = toolWith(input).parse(args);
    return parsed.ok ? "taken" : parsed.message;
  };
  test.each<[z.ZodObject, Json, string]>([
    [z.object({ q: z.string() }), {}, "q: is missing"],
    [z.object({ q: z.string() }), { q: 5 }, "q: must be a text, not a number"],
    [z.object({ q: z.string() }), { q: null }, "q: must be a text, not null"],
    [z.object({ q: z.string() }), null, "the arguments: must be an object, not null"],
    [z.object({ q: z.string() }), [], "the arguments: must be an object, not a list"],
    [z.object({ n: z.int() }), { n: 1.5 }, "n: must be a whole number, not a fraction"],
    [z.object({ n: z.number().max(5) }), { n: 6 }, "n: must be at most 5"],
    [z.object({ l: z.array(z.object({ a: z.string() })).min(1) }), { l: [] }, "l: must have at least 1 item"],
    [
      z.object({ l: z.array(z.object({ a: z.string() })) }),
      { l: [{ a: "" }, { a: 1 }] },
      "l[1].a: must be a text, not a number",
    ],
    [z.object({ e: z.enum(["a", "b"]) }), { e: "c" }, 'e: must be one of "a", "b"'],
    [z.strictObject({}), { x: 1, y: 2 }, 'the arguments: must not have "x", "y"'],
    [z.object({ m: z.email() }), { m: "me" }, "m: must be a valid email"],
    [z.object({ m: z.string().regex(/^a$/) }), { m: "me" }, "m: must match /^a$/"],
    [z.object({ n: z.number().multipleOf(5) }), { n: 6 }, "n: must be a multiple of 5"],
    [
      z.object({ u: z.union([z.string(), z.object({ id: z.string() })]) }),
      { u: { id: 1 } },
      "u: fits none of the allowed forms (nearest: id: must be a text, not a number)",
    ],
    [
      z.object({ s: z.discriminatedUnion("k", [z.object({ k: z.literal("a") }), z.object({ k: z.literal("b") })]) }),
      { s: { k: "c" } },
      's.k: must be one of "a", "b"',
    ],
    [z.object({ q: z.string("say what to look for") }), { q: 5 }, "q: say what to look for"],
    [z.object({ q: z.string().refine(() => false) }), { q: "" }, "q: is not accepted"],
    [z.object({ q: z.string().refine(() => false, "no such customer") }), { q: "" }, "q: no such customer"],
    [z.object({ a: z.string(), b: z.number() }), {}, "a: is missing; b: is missing"],
  ])("are refused in words that last (%#)", (input, args, message) => {
    expect(says(input, args)).toBe(message);
  });

  test("a long list of problems is cut", () => {
    const args = { l: Array.from({ length: 30 }, (_, i) => i) };
    expect(says(z.object({ l: z.array(z.string()) }), args)).toMatch(
      /^(l\[\d\]: must be a text, not a number; ){8}and 22 more$/,
    );
  });

  test("a transform that throws, or is asynchronous, is a message too", () => {
    const throws = z.object({
      q: z.string().transform(() => {
        throw new Error("no database");
      }),
    });
    expect(says(throws, { q: "" })).toBe("the arguments could not be checked: no database");
    const later = z.object({ q: z.string().refine(async () => true) });
    expect(says(later, { q: "" })).toBe(
      "the arguments could not be checked: the tool's schema has an asynchronous check",
    );
  });

  test("what passes is what the handler gets: defaults filled in, transforms applied", async () => {
    const input = z.object({ n: z.string().transform(Number), limit: z.number().default(8) });
    const tool = toolDefinition(defineTool({ ...plain, input, handler: ({ n, limit }) => n + limit }), "add");
    const parsed = tool.parse({ n: "34" });
    expect(parsed).toEqual({ ok: true, args: { n: 34, limit: 8 } });
    expect(await tool.handler(parsed.ok ? parsed.args : null, undefined as never)).toBe(42);
  });
});
