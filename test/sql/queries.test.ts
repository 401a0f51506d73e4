import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "@jest/globals";
import { generated, strip } from "../../shared/sql/generate.ts";

const SQL = new URL("../../shared/sql/", import.meta.url);
const queries = readdirSync(new URL("queries/", SQL)).filter((name) => name.endsWith(".sql"));

const read = (name: string): string => readFileSync(new URL(`queries/${name}`, SQL), "utf8");

describe("the SQL", () => {
  test("queries.ts holds what the .sql files say (node shared/sql/generate.ts)", () => {
    expect(readFileSync(new URL("queries.ts", SQL), "utf8")).toBe(generated());
  });

  const writes = queries.filter((name) => /\b(INSERT INTO|UPDATE|DELETE FROM)\b/.test(strip(read(name))));
  test.each(writes)("%s says in its header what it locks", (name) => {
    expect(read(name).split(/^(?!--)/m)[0]).toMatch(/\block(s|ed)?\b/i);
  });

  test("comments are left out, and nothing else", () => {
    expect(strip("-- a\nSELECT 1, -- one\n\n  2")).toBe("SELECT 1,\n  2");
  });
});
