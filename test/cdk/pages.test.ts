// The pages about the stack: options, outputs and alarms that they name are those that there are.
import { describe, expect, test } from "@jest/globals";
import { OPTION_NAMES } from "../../cdk/options.ts";
import { filesBelow, read, sections } from "../repo/files.ts";

const pages = filesBelow("").filter(
  ({ path }) => /^(?:docs\/.*|README|CHANGELOG)\.md$/.test(path) || path === "README.md",
);
const page = sections(read("docs/reference/stack.md"), 2);
const rows = (text: string): string[] => [...text.matchAll(/^\| `([^`]+)` \|/gm)].map((hit) => hit[1] as string);

/** Names of an interface's fields, in order. */
function fieldsOf(file: string, name: string): string[] {
  const body = new RegExp(`export interface ${name} \\{([\\s\\S]*?)\\n\\}`).exec(read(file))?.[1] ?? "";
  return [...body.matchAll(/^ {2}readonly (\w+)\??:/gm)].map((hit) => hit[1] as string);
}

describe("docs/reference/stack.md", () => {
  test("has every option of the construct, and what each costs", () => {
    const options = fieldsOf("cdk/settings.ts", "TorenProps");
    const nested = [
      ...fieldsOf("cdk/database.ts", "DatabaseSettings").map((name) => `database.${name}`),
      "database.url",
      ...fieldsOf("cdk/api.ts", "StageSettings").map((name) => `stage.${name}`),
    ];
    expect(options.length).toBeGreaterThan(7);
    const named = [...options.filter((name) => name !== "database" && name !== "stage"), ...nested];
    expect(rows(page.get("Options") ?? "").sort()).toEqual(named.sort());
    for (const row of (page.get("Options") ?? "").split("\n").filter((line) => line.startsWith("| `")))
      expect([row, row.split("|").at(-2)?.trim()]).not.toEqual([row, ""]);
  });

  test("has every name of the command line", () => {
    const text = page.get("Options") ?? "";
    expect(OPTION_NAMES.filter((name) => !text.includes(`\`-c ${name}=`))).toEqual([]);
  });

  test("has every output", () => {
    const said = [...read("cdk/toren.ts").matchAll(/^\s+(?:if .*\n\s+)?say\("(\w+)"/gm)].map((hit) => `Toren${hit[1]}`);
    expect(said).toHaveLength(5);
    expect(rows(page.get("Outputs") ?? "").sort()).toEqual(said.sort());
  });

  test("has every alarm", () => {
    const alarms = [...read("cdk/alarms.ts").matchAll(/this\.alarm\("(\w+)"/g)].map((hit) => hit[1] as string);
    expect(alarms).toHaveLength(7);
    expect(rows(page.get("Alarms") ?? "").sort()).toEqual([...alarms, "Recover", "Reboot"].sort());
  });
});

describe("commands that pages show", () => {
  const shown = pages.flatMap(({ path, text }) =>
    [...text.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, code = ""]) => ({ path, code })),
  );

  test("give the stack options that it has", () => {
    const wrong = shown.flatMap(({ path, code }) =>
      [...code.matchAll(/\bcdk [^\n]*?-c (\w+)=/g)].flatMap(([line, name = ""]) =>
        (OPTION_NAMES as readonly string[]).includes(name) ? [] : [`${path}: ${line}`],
      ),
    );
    expect(wrong).toEqual([]);
    expect(shown.some(({ code }) => /\bcdk deploy\b.*-c profile=production/.test(code))).toBe(true);
  });

  test("read outputs that the stack has", () => {
    const outputs = rows(page.get("Outputs") ?? "");
    const read_ = shown.flatMap(({ path, code }) =>
      [...code.matchAll(/\bToren\.(Toren\w+)/g)].map(([, name = ""]) => [path, name]),
    );
    expect(read_.length).toBeGreaterThan(3);
    expect(read_.filter(([, name = ""]) => !outputs.includes(name))).toEqual([]);
  });
});
