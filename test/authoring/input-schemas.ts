// c13: what authors write, and arguments that a model may give. Run as a program it prints each schema's digest, for the comparison across processes.
import * as z from "zod";
import { defineTool } from "../../shared/authoring/index.ts";
import { toolDefinition } from "../../shared/authoring/tool.ts";
import { digestOf } from "../../shared/core/digest.ts";
import type { Json } from "../../shared/core/json.ts";
import type { ToolDefinition } from "../../shared/ports/agents.ts";

const Tree = z.object({
  value: z.string(),
  get children() {
    return z.array(Tree).optional();
  },
});
const Named = z.object({
  value: z.string(),
  get next() {
    return Named.optional();
  },
});
const Expression: z.ZodType = z.lazy(() => z.union([z.number(), z.object({ add: z.array(Expression) })]));

export interface Case {
  readonly input: z.ZodObject;
  /** Arguments that schema and tool both take. */
  readonly takes: readonly Json[];
  /** Arguments that both refuse. */
  readonly refuses: readonly Json[];
}

export const CASES: Readonly<Record<string, Case>> = {
  default: { input: z.object({ limit: z.number().default(10) }), takes: [{}, { limit: 3 }], refuses: [{ limit: "3" }] },
  "default that is computed": {
    input: z.object({ since: z.number().default(() => Date.now()), id: z.string().default(() => crypto.randomUUID()) }),
    takes: [{}, { since: 1 }],
    refuses: [{ since: "now" }],
  },
  prefault: {
    input: z.object({ name: z.string().trim().prefault("x") }),
    takes: [{}, { name: "y" }],
    refuses: [{ name: 1 }],
  },
  catch: {
    input: z.object({ name: z.string().catch(() => String(Math.random())) }),
    takes: [{ name: "y" }],
    refuses: [],
  },
  optional: {
    input: z.object({ a: z.string().optional(), b: z.string().nullish() }),
    takes: [{}, { b: null }],
    refuses: [{ a: null }],
  },
  transform: {
    input: z.object({ n: z.string().transform((text) => Number(text)) }),
    takes: [{ n: "4" }],
    refuses: [{ n: 4 }],
  },
  pipe: {
    input: z.object({
      n: z.string().transform(Number).pipe(z.number().max(5)),
      p: z.preprocess((x) => x, z.boolean()),
    }),
    takes: [{ n: "4", p: true }],
    refuses: [{ n: 4, p: true }],
  },
  codec: {
    input: z.object({
      when: z.codec(z.iso.datetime(), z.date(), { decode: (s) => new Date(s), encode: (d) => d.toISOString() }),
    }),
    takes: [{ when: "2026-01-02T03:04:05Z" }],
    refuses: [{ when: 5 }],
  },
  "discriminated union": {
    input: z.object({
      shape: z.discriminatedUnion("kind", [
        z.object({ kind: z.literal("circle"), r: z.number() }),
        z.object({ kind: z.literal("square"), side: z.number().default(1) }),
      ]),
    }),
    takes: [{ shape: { kind: "circle", r: 1 } }, { shape: { kind: "square" } }],
    refuses: [{ shape: { kind: "square", side: "1" } }, { shape: { kind: "line" } }],
  },
  "recursive at the root": {
    input: Tree,
    takes: [{ value: "a", children: [{ value: "b" }] }],
    refuses: [{ value: "a", children: [{}] }],
  },
  "recursive with an id": {
    input: Named.meta({ id: "Named" }),
    takes: [{ value: "a", next: { value: "b" } }],
    refuses: [{ next: { value: "b" } }],
  },
  "recursive below": {
    input: z.object({ e: Expression }),
    takes: [{ e: { add: [1, { add: [] }] } }],
    refuses: [{ e: { add: ["1"] } }],
  },
  "records, tuples, enums": {
    input: z
      .object({ r: z.record(z.string(), z.int()), t: z.tuple([z.string()]).rest(z.number()), e: z.enum(["b", "a"]) })
      .strict(),
    takes: [{ r: { x: 1 }, t: ["a", 1, 2], e: "a" }],
    refuses: [
      { r: { x: 1.5 }, t: ["a"], e: "a" },
      { r: {}, t: ["a"], e: "a", more: 1 },
    ],
  },
  "a pattern with flags": {
    input: z.object({ code: z.string().regex(/^ab+$/i) }),
    takes: [{ code: "ABB" }, { code: "ab" }],
    refuses: [],
  },
  refinements: {
    input: z.object({ n: z.number().refine((n) => n % 2 === 0) }).refine(() => true),
    takes: [{ n: 2 }],
    refuses: [{ n: "2" }],
  },
};

export const toolWith = (input: z.ZodObject): ToolDefinition =>
  toolDefinition(
    defineTool({
      description: "A tool.",
      input,
      effects: "none",
      idempotency: "none",
      approval: "never",
      handler: () => null,
    }),
    "probe",
  );

export const digests = (): Record<string, string> =>
  Object.fromEntries(Object.entries(CASES).map(([name, { input }]) => [name, digestOf(toolWith(input).inputSchema)]));

if (process.argv[1] === import.meta.filename) process.stdout.write(JSON.stringify(digests()));
