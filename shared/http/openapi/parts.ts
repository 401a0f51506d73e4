// What descriptions of routes are made of. Bodies, parameters and answers come from the schemas that the routes check with, so they can't differ.
import * as z from "zod";
import { STATUS } from "../problems.ts";

export type Schema = Readonly<Record<string, unknown>>;

export const text: Schema = { type: "string" };
export const anything: Schema = {};
export const ref = (name: string): Schema => ({ $ref: `#/components/schemas/${name}` });
/** What a route answers with that has done something to one thing. */
export const itsId = z.object({ id: z.string() });
const schemaOf = (schema: z.ZodType, io: "input" | "output"): Schema => {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: "any" });
  return rest;
};
export const answer = (schema: z.ZodType): Schema => schemaOf(schema, "output");
const input = (schema: z.ZodType): Schema => schemaOf(schema, "input");

/** A JSON body of a schema. `optional`: the route does without. */
export const takes = (schema: z.ZodType, how: { optional?: true } = {}): Schema => ({
  required: how.optional !== true,
  content: { "application/json": { schema: input(schema) } },
});

export const json = (schema: Schema, description: string): Schema => ({
  description,
  content: { "application/json": { schema } },
});

/** The same route answers as server-sent events too. */
export const withStream = ({ content, ...rest }: Schema): Schema => ({
  ...rest,
  content: { ...(content as Schema), "text/event-stream": { schema: text } },
});

const PROBLEMS: Schema = Object.fromEntries(
  [...new Set(Object.values(STATUS)), 500].sort().map((status) => [
    String(status),
    {
      description: `A problem (RFC 9457): ${codesOf(status)}`,
      content: { "application/problem+json": { schema: ref("Problem") } },
    },
  ]),
);
function codesOf(status: number): string {
  const codes = Object.entries(STATUS).flatMap(([code, s]) => (s === status ? [code] : []));
  return codes.length === 0 ? "bug" : codes.join(", ");
}
export const responses = (ok: Readonly<Record<string, Schema>>): Schema => ({ ...PROBLEMS, ...ok });

/** The parameters that a strict object of a route's query describes. A list may come several times; `records`: one parameter for each of their
 * keys, which stands for `key` here. */
export function query(schema: z.ZodObject, records: readonly string[] = []): Schema[] {
  const { properties = {} } = input(schema) as { properties?: Readonly<Record<string, Schema>> };
  return Object.entries(properties).map(([name, { description, ...rest }]) => ({
    name: records.includes(name) ? `${name}.key` : name,
    in: "query",
    schema: records.includes(name) ? text : rest,
    ...(description === undefined ? {} : { description }),
  }));
}

export const inPath = (name: string, description?: string): Schema => ({
  name,
  in: "path",
  required: true,
  schema: text,
  ...(description === undefined ? {} : { description }),
});
export const runId: Schema = inPath("runId");
export const idempotencyKey = (description: string): Schema => ({
  name: "Idempotency-Key",
  in: "header",
  schema: text,
  description,
});
export const lastEventId: Schema = {
  name: "Last-Event-ID",
  in: "header",
  schema: text,
  description: "Of a stream: the last `id` that was read. It goes before `after`.",
};
