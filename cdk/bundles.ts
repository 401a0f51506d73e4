// The bundles, as the stack sees them: built by a process of its own (build.ts), since building waits and a stack's constructor can't.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { FileSystem, Stack } from "aws-cdk-lib";
import { Code } from "aws-cdk-lib/aws-lambda";
import { Asset } from "aws-cdk-lib/aws-s3-assets";
import { Construct } from "constructs";
import type { FunctionName } from "./functions.ts";
import { StackProblem } from "./problem.ts";

export type BundleName = FunctionName | "long-task";
const NAMES: readonly BundleName[] = [
  "tick",
  "task",
  "guardian",
  "dead-letter",
  "api",
  "events",
  "migrate",
  "long-task",
];

const BUILD = fileURLToPath(new URL("./build.ts", import.meta.url));
/** Stands in where bundling is skipped: in tests, and for commands that deploy nothing. */
const UNBUILT = fileURLToPath(new URL("./unbuilt", import.meta.url));
/** In the state folder, since an app of a user's own may have a `dist`. CDK copies from here. */
const STATE = ".toren";
const OUT = `${STATE}/bundles`;

export class Bundles extends Construct {
  /** Changes whenever any code does. */
  readonly codeHash: string;
  private readonly folder: string | null;

  /** @throws StackProblem with what the build says is wrong. */
  constructor(scope: Construct, id: string, agentsFolder: string) {
    super(scope, id);
    this.folder = Stack.of(this).bundlingRequired ? resolve(OUT) : null;
    if (this.folder !== null) {
      mkdirSync(STATE, { recursive: true });
      if (!existsSync(`${STATE}/.gitignore`)) writeFileSync(`${STATE}/.gitignore`, "*\n");
      build(resolve(agentsFolder), this.folder);
    }
    this.codeHash = NAMES.map((name) => FileSystem.fingerprint(this.pathOf(name))).reduce(
      (hash, one) => `${hash}${one.slice(0, 8)}`,
      "",
    );
  }

  code(name: FunctionName): Code {
    return Code.fromAsset(this.pathOf(name));
  }

  asset(name: BundleName): Asset {
    return new Asset(this, name, { path: this.pathOf(name) });
  }

  private pathOf(name: BundleName): string {
    return this.folder === null ? UNBUILT : resolve(this.folder, name);
  }
}

function build(agents: string, out: string): void {
  console.error("Bundling the agents, which takes some seconds.");
  const { status, stderr, error } = spawnSync(process.execPath, [BUILD, "--agents", agents, "--out", out, "--quiet"], {
    encoding: "utf8",
    stdio: ["ignore", "ignore", "pipe"],
  });
  if (status === 0) return;
  throw new StackProblem(stderr.trim() || `The bundles can't be built: ${error?.message ?? `exit ${status}`}`);
}
