import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import type { Command } from "commander";
import { programFor } from "../../local/cli.ts";
import { EXIT } from "../../local/commands/context.ts";
import type { Terminal } from "../../local/terminal/terminal.ts";

const page = readFileSync(join(import.meta.dirname, "../../docs/reference/cli.md"), "utf8");
const sections = new Map(
  page
    .split(/^## /m)
    .slice(1)
    .map((text) => [text.slice(0, text.indexOf("\n")), text] as const),
);
const options = (command: Command): string[] =>
  [...command.options, ...command.commands.flatMap((child) => child.options)].map((option) => option.flags);

const output = { write: () => {}, size: () => null, colour: false };
const terminal: Terminal = {
  out: output,
  err: output,
  env: {},
  workingFolder: "/",
  readInput: async () => "",
  lines: { interactive: false, next: async () => ({ type: "end" }) },
  user: "ann",
  interrupted: new AbortController().signal,
};
const program = programFor({ terminal, run: async () => {} });

test("docs/reference/cli.md has a section for every command, and no other", () => {
  const commands = program.commands.map((command) => `toren ${command.name()}`);
  expect([...sections.keys()].filter((name) => name.startsWith("toren ")).sort()).toEqual(commands.sort());
  for (const job of program.commands.find((command) => command.name() === "jobs")?.commands ?? []) {
    expect(page).toContain(`\`toren jobs ${job.name()}`);
  }
});

test.each(program.commands.map((command) => [command.name(), command] as const))(
  "toren %s: every option, and no other",
  (name, command) => {
    const rows = [...(sections.get(`toren ${name}`) ?? "").matchAll(/^\| `(--[^`]+)` \|/gm)].map((hit) => hit[1]);
    // --json is on every command, and said once for all.
    const own = [...new Set(options(command))].filter((flags) => flags !== "--json");
    expect(rows.filter((flags) => flags !== "--json").sort()).toEqual(own.sort());
    for (const each of command.commands.length === 0 ? [command] : command.commands)
      expect(options(each)).toContain("--json");
  },
);

test("it has the exit codes", () => {
  for (const code of Object.values(EXIT)) expect(page).toMatch(new RegExp(`^\\| ${code} \\|`, "m"));
});

test.each(program.commands.filter((command) => command.commands.length > 0).map((c) => [c.name(), c] as const))(
  "toren %s: a row for every command, and of every option those that have it",
  (name, group) => {
    const section = sections.get(`toren ${name}`) ?? "";
    const listed = [...section.matchAll(/^\| `toren [a-z-]+ ([a-z]+)[^`]*` \|/gm)].map((hit) => hit[1]);
    expect(listed.sort()).toEqual(group.commands.map((command) => command.name()).sort());
    const rows = [...section.matchAll(/^\| `(--[^`]+)` \| ([a-z, ]+) \|/gm)];
    const said = rows.map(([, flags, of = ""]) => `${flags}: ${of.split(", ").sort().join(", ")}`);
    const has = (flags: string): string[] =>
      group.commands.filter((command) => options(command).includes(flags)).map((command) => command.name());
    const own = [...new Set(options(group))].filter((flags) => flags !== "--json");
    expect(said.sort()).toEqual(own.map((flags) => `${flags}: ${has(flags).sort().join(", ")}`).sort());
  },
);
