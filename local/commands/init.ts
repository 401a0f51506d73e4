// toren init: a project that runs at once, in a folder that is empty or isn't there yet.
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { basename, dirname, join, relative, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import type { Command } from "commander";
import { UsageError } from "../client/usage-error.ts";
import { type ProjectOptions, projectFiles } from "../init/project.ts";
import { styleOf } from "../terminal/style.ts";
import { printable, shellWord } from "../terminal/terminal.ts";
import { type Context, EXIT, say, subcommand, writeJson } from "./context.ts";

const HERE = fileURLToPath(new URL("../../", import.meta.url));

export const initCommand = (context: Context): Command =>
  subcommand("init", "make a project with a small agent, its test and an app that deploys it")
    .argument("<folder>", "where: empty, or not there yet")
    .action((folder: string, { json }: { readonly json?: boolean }) =>
      context.run(json, () => init(context, folder, json)),
    );

async function init({ terminal }: Context, typed: string, asJson: boolean | undefined): Promise<number> {
  const folder = resolve(terminal.workingFolder, typed);
  const there = await readdir(folder).catch((e: NodeJS.ErrnoException) => {
    if (e.code === "ENOENT") return [];
    if (e.code === "ENOTDIR") throw new UsageError(`${typed} is a file: name a folder.`);
    throw e;
  });
  if (there.length > 0)
    throw new UsageError(`${typed} isn't empty (${there.slice(0, 3).map(printable).join(", ")}): name a new folder.`);
  const files = projectFiles(await optionsFor(folder));
  for (const [path, text] of files) {
    const file = join(folder, path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, text, { flag: "wx" });
  }
  if (asJson) writeJson(terminal, { folder, files: [...files.keys()] });
  else {
    const { bold, dim } = styleOf(terminal.err);
    const next = [
      `cd ${shellWord(printable(typed))}`,
      "npm install",
      'npx toren run hello "What is a write-ahead log?"',
      "npm test",
      "npx toren dev",
    ];
    say(
      terminal,
      `A project with the agent ${bold("hello")} is in ${printable(typed)}. Next:\n\n${next.map((line) => `  ${line}`).join("\n")}\n`,
    );
    say(terminal, dim("Without a provider's key a rule-based demo model answers. README.md says more."));
  }
  return EXIT.done;
}

/** Run from a checkout, the project gets that very Toren; installed, the version that it is. */
async function optionsFor(folder: string): Promise<ProjectOptions> {
  const { version, dependencies, devDependencies } = JSON.parse(await readFile(join(HERE, "package.json"), "utf8")) as {
    readonly version: string;
    readonly dependencies: Readonly<Record<string, string>>;
    readonly devDependencies: Readonly<Record<string, string>>;
  };
  const of = (name: string): string => dependencies[name] ?? devDependencies[name] ?? "*";
  const installed = HERE.split(sep).includes("node_modules");
  const name = basename(folder)
    .toLowerCase()
    .replaceAll(/[^a-z0-9._-]+/g, "-")
    .replace(/^[._-]+/, "");
  return {
    name: name === "" ? "hello-toren" : name,
    toren: installed ? version : `file:${relative(folder, HERE).split(sep).join("/")}`,
    versions: {
      zod: of("zod"),
      typescript: of("typescript"),
      "@types/node": of("@types/node"),
      "aws-cdk": of("aws-cdk"),
      "aws-cdk-lib": of("aws-cdk-lib"),
      constructs: of("constructs"),
    },
  };
}
