// The list of what is content, held to the schemas: whoever adds an event, a fact or a field decides whether it is sealed.
import { describe, expect, test } from "@jest/globals";
import * as z from "zod";
import { contentOfEvent, EVENT_FIELDS, FACT_FIELDS } from "../../shared/core/content.ts";
import { fact, runEvent, taskEvent } from "../../shared/core/events.ts";

interface Schema {
  readonly type?: string;
  readonly const?: unknown;
  readonly enum?: unknown;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly items?: Schema;
}

/** Paths of all texts and free values of an object's schema. A list, and an object of free keys, is one place. */
function places(schema: Schema, path = ""): string[] {
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices !== undefined) return choices.flatMap((choice) => places(choice, path));
  if (schema.properties !== undefined)
    return Object.entries(schema.properties).flatMap(([name, field]) =>
      places(field, path === "" ? name : `${path}.${name}`),
    );
  if (schema.const !== undefined || schema.enum !== undefined) return [];
  const { type = "" } = schema.items ?? schema; // a list of numbers says as little as one of them
  return ["integer", "number", "boolean", "null"].includes(type) ? [] : [path];
}

const variants = (union: z.ZodType, by: string): Map<string, string[]> => {
  const { oneOf = [], anyOf = oneOf } = z.toJSONSchema(union, { unrepresentable: "any" }) as Schema;
  return new Map(
    anyOf.map((variant) => [String(variant.properties?.[by]?.const), [...new Set(places(variant))].sort()] as const),
  );
};

const declared = ({ content, clear }: { content: readonly string[]; clear: readonly string[] }) =>
  [...content, ...clear].sort();

describe.each([
  ["event", new Map([...variants(taskEvent, "type"), ...variants(runEvent, "type")]), EVENT_FIELDS],
  ["fact", variants(fact, "kind"), FACT_FIELDS],
] as const)("each %s", (_what, schemas, fields) => {
  test("is on the list, and nothing else is", () => {
    expect(Object.keys(fields).sort()).toEqual([...schemas.keys()].sort());
  });

  test.each([...schemas])("%s: each of its texts is decided on", (name, found) => {
    expect(declared(fields[name as never])).toEqual(found);
  });
});

test("of a type that isn't on the list all that could be content is", () => {
  expect(contentOfEvent("SomethingNewer", { text: "x", n: 1, ok: true, more: { a: 1 } })).toEqual(["text", "more"]);
});
