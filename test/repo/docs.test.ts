import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { Command } from "commander";
import { programFor } from "../../local/cli.ts";
import { parseAgentYaml } from "../../shared/authoring/agent-yaml.ts";
import { filesBelow, type RepoFile, ROOT, read, sections } from "./files.ts";

const pages = filesBelow("").filter(
  ({ path }) => path.endsWith(".md") && !path.includes("/corpus/") && !/^agents\/.*\/prompts\//.test(path),
);
const blocks = ({ text }: RepoFile, language: string): string[] =>
  [...text.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, "gm"))].map((hit) => hit[1] as string);

/** As GitHub makes them. */
const anchor = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
    .replaceAll(" ", "-");

test("every link between pages leads somewhere", () => {
  const broken = pages.flatMap(({ path, text }) =>
    [...text.replaceAll(/^```[\s\S]*?^```$/gm, "").matchAll(/\]\((?!https?:|mailto:)([^)#\s]*)(#[^)\s]*)?\)/g)].flatMap(
      ([link, to = "", hash = ""]) => {
        const target = to === "" ? path : normalize(join(dirname(path), to));
        if (!existsSync(join(ROOT, target))) return [`${path}: ${link}`];
        if (hash === "" || !target.endsWith(".md")) return [];
        const anchors = [...read(target).matchAll(/^#{1,6} (.+)$/gm)].map((hit) => `#${anchor(hit[1] as string)}`);
        return anchors.includes(hash) ? [] : [`${path}: ${link}`];
      },
    ),
  );
  expect(broken).toEqual([]);
});

test("every page of docs/ is reachable from its index", () => {
  const index = read("docs/README.md");
  const missing = pages
    .map(({ path }) => path)
    .filter((path) => /^docs\/[^/]+\//.test(path) && !index.includes(`(${path.slice("docs/".length)})`));
  expect(missing).toEqual([]);
});

describe("examples", () => {
  const folder = join(ROOT, "dist", "doc-examples");
  const examples = pages.flatMap((page) =>
    blocks(page, "ts").map((code, i) => [`${page.path} (${i + 1})`, code] as const),
  );

  beforeAll(() => {
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true });
    for (const [i, [, code]] of examples.entries()) writeFileSync(join(folder, `example${i}.ts`), code);
    writeFileSync(
      join(folder, "tsconfig.json"),
      JSON.stringify({ extends: "../../tsconfig.json", compilerOptions: { noUnusedLocals: false }, include: ["*.ts"] }),
    );
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test("there are some, and all of them compile", () => {
    expect(examples.length).toBeGreaterThan(5);
    const tsc = join(ROOT, "node_modules/typescript/bin/tsc");
    const { stdout } = spawnSync(process.execPath, [tsc, "--project", folder, "--pretty", "false"], {
      encoding: "utf8",
    });
    const wrong = stdout.split("\n").filter((line) => /example\d+\.ts\(/.test(line));
    const named = wrong.map((line) =>
      line.replace(/^.*example(\d+)\.ts/, (_, i: string) => examples[Number(i)]?.[0] ?? ""),
    );
    expect(named).toEqual([]);
  }, 60_000);

  test("every agent.yaml shown is one", () => {
    const yamls = pages.flatMap((page) => blocks(page, "yaml").map((source) => [page.path, source] as const));
    expect(yamls.length).toBeGreaterThan(1);
    for (const [path, source] of yamls) {
      const name = /^name: (\S+)/m.exec(source)?.[1] ?? "";
      expect([path, parseAgentYaml(source, path, name).problems]).toEqual([path, []]);
    }
  });
});

describe("commands that pages show", () => {
  test("are scripts of package.json", () => {
    const { scripts } = JSON.parse(read("package.json")) as { scripts: Record<string, string> };
    const wanted = pages.flatMap(({ text }) =>
      [...text.matchAll(/\bnpm run (?:--silent |-s )?([\w:-]+)/g)].map((hit) => hit[1] as string),
    );
    expect([...new Set(wanted)].filter((name) => !(name in scripts))).toEqual([]);
  });

  test("are commands of toren, with options that they have", () => {
    const COMMAND =
      /^(?:[A-Z_]+=\S+ )*(?:npx )?toren ((?:(?:jobs|keys|schedules|files|dead-letters) )?[a-z][\w-]*).*$/gm;
    const shown = pages.flatMap((page) =>
      [...blocks(page, "sh").join("\n").matchAll(COMMAND)].map(([line, words = ""]) => ({
        page: page.path,
        line,
        words,
      })),
    );
    const help = new Map([...new Set(shown.map(({ words }) => words))].map((words) => [words, helpOf(words)]));
    const wrong = shown.flatMap(({ page, line, words }) => {
      const text = help.get(words) ?? null;
      if (text === null) return [`${page}: ${line}: no such command`];
      const options = [...line.matchAll(/(?<= )--[a-z][\w-]*/g)].map(([option]) => option);
      return options.filter((option) => !text.includes(option)).map((option) => `${page}: ${line}: no ${option}`);
    });
    expect(wrong).toEqual([]);
  });
});

const silent = { write: () => {}, size: () => null, colour: false };
const program = programFor({
  terminal: {
    out: silent,
    err: silent,
    env: {},
    workingFolder: ROOT,
    readInput: async () => "",
    lines: { interactive: false, next: async () => ({ type: "end" }) },
    user: "ann",
    interrupted: new AbortController().signal,
  },
  run: async () => {},
});

/** Null: there is no such command. */
function helpOf(words: string): string | null {
  const command = words
    .split(" ")
    .reduce<Command | undefined>((group, word) => group?.commands.find((c) => c.name() === word), program);
  return command?.helpInformation() ?? null;
}

test("docs/reference/invariants.md has I1 to I12, each with its sentence", () => {
  const found = sections(read("docs/reference/invariants.md"), 2);
  expect([...found.keys()]).toEqual(Array.from({ length: 12 }, (_, i) => `I${i + 1}`));
  for (const text of found.values()) expect(text).toMatch(/^\*\*[A-Z].+\.\*\*|^\*\*[A-Z].+\*\*,/);
});
