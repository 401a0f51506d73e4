import { describe, expect, test } from "@jest/globals";
import type * as z from "zod";
import { fact, runEvent, taskEvent } from "../../shared/core/events.ts";
import { read, sections } from "./files.ts";

const page = read("docs/reference/events.md");
const parts = sections(page, 1);

/** The fields of each variant as the page writes them: optional ones with a question mark. */
function variants(union: { readonly options: readonly z.ZodObject[] }, tag: string): Map<string, string[]> {
  return new Map(
    union.options.map((option) => {
      const { [tag]: name, ...fields } = option.shape as Record<string, z.ZodType>;
      const [value] = (name as z.ZodLiteral<string>).values;
      return [
        value as string,
        Object.entries(fields).map(([key, type]) => (type.safeParse(undefined).success ? `${key}?` : key)),
      ];
    }),
  );
}

function described(heading: string): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const [name, text] of sections(parts.get(heading) ?? "", 2)) {
    const line = /^Fields: (.+)\.\n\n\S/.exec(text)?.[1] ?? "";
    found.set(name, line === "none" ? [] : [...line.matchAll(/`(\w+\??)`/g)].map((hit) => hit[1] as string));
  }
  return found;
}

const task = variants(taskEvent, "type");
const run = variants(runEvent, "type");
const both = new Map([...task].filter(([name]) => run.has(name)));
const only = (all: Map<string, string[]>): Map<string, string[]> =>
  new Map([...all].filter(([name]) => !both.has(name)));

describe("docs/reference/events.md has every event and fact with exactly its fields", () => {
  test.each([
    ["Of both kinds of stream", both],
    ["Of a task", only(task)],
    ["Of a run", only(run)],
    ["Facts", variants(fact, "kind")],
  ])("%s", (heading, expected) => {
    expect(described(heading)).toEqual(expected);
  });
});
