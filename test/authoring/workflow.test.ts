import { expect, test } from "@jest/globals";
import * as z from "zod";
import { defineWorkflow, TorenError, type WorkflowFn } from "../../shared/authoring/index.ts";
import { inputParser, isWorkflow } from "../../shared/authoring/workflow.ts";
import type { Json } from "../../shared/core/json.ts";

function parse(workflow: unknown, input: Json): unknown {
  if (!isWorkflow(workflow)) throw new Error("not a workflow");
  return inputParser(workflow)(input);
}

test("without a schema the input is a text", () => {
  const workflow = defineWorkflow(async (ctx) => ctx.input);
  expect(parse(workflow, "hello")).toEqual({ ok: true, input: "hello" });
  expect(parse(workflow, { q: "hello" })).toEqual({
    ok: false,
    message: "the input: must be a text (give defineWorkflow an input schema for anything else)",
  });
});

test("with a schema the input is what the schema makes of it, as JSON", () => {
  const input = z.object({
    id: z.string(),
    limit: z.number().default(3),
    day: z.iso.date().transform((text) => new Date(text)),
  });
  const workflow = defineWorkflow({ input }, async (ctx) => ctx.input.limit);
  expect(parse(workflow, { id: "a", day: "2026-01-02" })).toEqual({
    ok: true,
    input: { id: "a", limit: 3, day: "2026-01-02T00:00:00.000Z" },
  });
  expect(parse(workflow, { id: 1, day: "2026-01-02" })).toEqual({
    ok: false,
    message: "id: must be a text, not a number",
  });
});

test("an input that a schema turns into what JSON can't hold is refused with its path", () => {
  const workflow = defineWorkflow({ input: z.object({ n: z.string().transform(BigInt) }) }, async () => null);
  expect(parse(workflow, { n: "4" })).toEqual({
    ok: false,
    message: "the input could not be checked: $.n is a BigInt, which JSON can't hold",
  });
});

test("with {} any JSON is taken as it comes", () => {
  const workflow = defineWorkflow<{ a: number[] }>({}, async (ctx) => ctx.input.a[0] ?? null);
  expect(parse(workflow, { a: [1] })).toEqual({ ok: true, input: { a: [1] } });
});

test("a plain function is no workflow, and defineWorkflow takes nothing else", () => {
  expect(isWorkflow(async () => null)).toBe(false);
  expect(() => defineWorkflow("main" as unknown as WorkflowFn)).toThrow(TorenError);
  for (const generator of [async function* () {}, function* () {}])
    expect(() => defineWorkflow(generator as unknown as WorkflowFn)).toThrow("not a generator");
  expect(() => defineWorkflow({ input: { type: "string" } as unknown as z.ZodType<string> }, async () => null)).toThrow(
    "zod 4",
  );
});
