// A request's parameters, held against a schema. One that a route takes once is refused when it comes twice: whoever reads the URL can't tell which counts.
import type * as z from "zod";

import { check } from "./body.ts";
import type { HttpContext } from "./deps.ts";
import { BadRequest } from "./problems.ts";

/** `lists`: parameters that may come several times, or with commas; the schema has them as arrays. `prefix`: those that begin so are one record. */
export interface QueryForm {
  readonly lists?: readonly string[];
  readonly prefix?: string;
}

export function readQuery<T>(c: HttpContext, schema: z.ZodType<T>, { lists = [], prefix }: QueryForm = {}): T {
  const values: Record<string, unknown> = Object.create(null); // a parameter may have any name, `__proto__` too
  const record: Record<string, string> = Object.create(null);
  for (const [name, given] of Object.entries(c.req.queries())) {
    if (given.some((text) => text.includes("\u0000"))) throw withNul(name);
    if (lists.includes(name)) values[name] = given.flatMap((text) => text.split(","));
    else if (given.length > 1) throw twice(name);
    else if (prefix !== undefined && name.startsWith(`${prefix}.`))
      record[name.slice(prefix.length + 1)] = given[0] ?? "";
    else values[name] = given[0];
  }
  if (prefix !== undefined && Object.keys(record).length > 0) {
    if (prefix in values)
      throw new BadRequest(`A parameter is wrong: write ${prefix}.<key>=<value>.`, [
        { path: prefix, message: "needs a key" },
      ]);
    values[prefix] = Object.fromEntries(Object.entries(record)); // `__proto__` stays a name
  }
  return check(values, schema, "A parameter is wrong", "");
}

/** Postgres keeps no NUL in a text, so nothing that a parameter can name has one. */
const withNul = (name: string): BadRequest =>
  new BadRequest(`A parameter is wrong: ${name.slice(0, 100).toWellFormed()} holds a NUL character.`, [
    { path: name, message: "holds a NUL character" },
  ]);

const twice = (name: string): BadRequest =>
  new BadRequest(`A parameter is wrong: ${name.slice(0, 100).toWellFormed()} is given more than once.`, [
    { path: name, message: "is given more than once" },
  ]);
