/**
 * Plants each bug of bugs.ts into a copy of the tree, and runs the test that must see it: `node test/planted/run.ts [WORD…]` (bugs whose names hold a word).
 * The tree itself is never touched. First the named tests run as they are: what fails anyway proves nothing.
 * Exits 1 if a bug survived. TEST_DATABASE_URL is used where it is set, else the tests start a Postgres of their own in the copy.
 */
import { execFileSync, spawn } from "node:child_process";
import { chmod, cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { BUGS, type Bug } from "./bugs.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const TEST_MS = 180_000;

/** What git would commit now, with the dependencies that are installed. */
async function copyOfTree(): Promise<string> {
  const copy = await mkdtemp(join(tmpdir(), "toren-planted-"));
  await chmod(copy, 0o755); // the tests' Postgres may run as another account
  const listed = execFileSync("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"], { cwd: ROOT });
  for (const path of new Set(
    listed
      .toString()
      .split("\0")
      .filter((name) => name !== ""),
  )) {
    await mkdir(dirname(join(copy, path)), { recursive: true });
    await cp(join(ROOT, path), join(copy, path)).catch((e: NodeJS.ErrnoException) => {
      if (e.code !== "ENOENT") throw e; // deleted, and not yet committed
    });
  }
  await symlink(join(ROOT, "node_modules"), join(copy, "node_modules"));
  return copy;
}

interface Verdict {
  readonly passed: number;
  readonly failed: number;
  /** The first failure's first line. */
  readonly why: string;
}

interface JestResult {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numRuntimeErrorTestSuites: number;
  readonly testResults: readonly {
    readonly message: string;
    readonly assertionResults: readonly { readonly status: string; readonly failureMessages: readonly string[] }[];
  }[];
}

const escaped = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");

async function jest(copy: string, files: readonly string[], tests: readonly string[]): Promise<Verdict> {
  const report = join(copy, ".planted-report.json");
  await rm(report, { force: true });
  const pattern = ["--testNamePattern", tests.map(escaped).join("|")];
  const args = ["--no-warnings", "--experimental-vm-modules", join(copy, "node_modules/jest/bin/jest.js")];
  const child = spawn(
    process.execPath,
    [...args, "--silent", "--json", "--outputFile", report, "--runTestsByPath", ...files, ...pattern],
    { cwd: copy, stdio: "ignore", timeout: TEST_MS },
  );
  await new Promise((done) => child.once("exit", done));
  const text = await readFile(report, "utf8").catch(() => null);
  if (text === null) return { passed: 0, failed: 0, why: "the tests didn't end" };
  const result = JSON.parse(text) as JestResult;
  const failures = result.testResults.flatMap((suite) => [
    ...suite.assertionResults.flatMap((test) => test.failureMessages),
    ...(result.numRuntimeErrorTestSuites > 0 ? [suite.message] : []),
  ]);
  return {
    passed: result.numPassedTests,
    failed: result.numRuntimeErrorTestSuites > 0 ? 0 : result.numFailedTests,
    why: firstLines(failures[0] ?? ""),
  };
}

const firstLines = (text: string): string =>
  stripVTControlCharacters(text)
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "")
    .slice(0, 4)
    .join(" · ")
    .slice(0, 240);

/** Mistakes of the planting, which every test would see. */
const BROKEN = /SyntaxError|syntax error|ReferenceError|is not defined|does not exist|could not determine data type/;

async function plant(copy: string, bug: Bug): Promise<() => Promise<void>> {
  const before = new Map<string, string>();
  for (const { file, find, replace } of bug.edits) {
    const path = join(copy, file);
    const text = await readFile(path, "utf8");
    if (text.split(find).length !== 2) throw new Error(`${bug.name}: ${file} doesn't hold exactly once: ${find}`);
    if (!before.has(path)) before.set(path, text);
    await writeFile(
      path,
      text.replace(find, () => replace),
    );
  }
  const generate = (): void => {
    if (bug.edits.some(({ file }) => file.endsWith(".sql")))
      execFileSync(process.execPath, ["shared/sql/generate.ts"], { cwd: copy });
  };
  generate();
  return async () => {
    for (const [path, text] of before) await writeFile(path, text);
    generate();
  };
}

async function main(words: readonly string[]): Promise<number> {
  const bugs = BUGS.filter((bug) => words.every((word) => bug.name.includes(word)));
  const copy = await copyOfTree();
  let survived = 0;
  try {
    for (const file of new Set(bugs.map((bug) => bug.killedBy.file))) {
      const names = bugs.filter((bug) => bug.killedBy.file === file).map((bug) => bug.killedBy.test);
      const { passed, failed, why } = await jest(copy, [file], names);
      if (failed > 0 || passed === 0) throw new Error(`${file} fails without a bug, or has no such test: ${why}`);
    }
    for (const bug of bugs) {
      const restore = await plant(copy, bug);
      const { failed, why } = await jest(copy, [bug.killedBy.file], [bug.killedBy.test]);
      await restore();
      const killed = failed > 0 && !BROKEN.test(why);
      if (!killed) survived++;
      console.log(`${killed ? "killed  " : "SURVIVED"}  ${bug.name}\n          ${bug.killedBy.file}: ${why}`);
    }
  } finally {
    await rm(copy, { recursive: true, force: true });
  }
  console.log(`\n${bugs.length - survived} of ${bugs.length} bugs killed`);
  return survived === 0 ? 0 : 1;
}

if (import.meta.main) process.exitCode = await main(process.argv.slice(2));
