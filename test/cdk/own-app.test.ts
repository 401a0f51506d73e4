// `toren/cdk` in an app of a user's own: a folder of theirs with toren installed as `npm install ../toren` does it, its agents beside it.
import { spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, jest, test } from "@jest/globals";
import { ROOT } from "../repo/files.ts";

jest.setTimeout(180_000); // all bundles are built

const APP = `import { App, Stack, type StackProps } from "aws-cdk-lib";
import { StackProblem, Toren, type TorenProps } from "toren/cdk";

const app = new App();
const options: TorenProps = { agents: "crews", profile: "small", stage: { name: "live" } };
const props: StackProps = { env: { region: "us-east-1" } };
const stack = new Stack(app, "Mine", props);
const toren = new Toren(stack, "Crews", options);
if (toren.api.rest === undefined || StackProblem.name !== "StackProblem") throw new Error("it isn't all there");
`;
/** Loaded before the app and before the build: whoever reaches for the network fails. A socket by a path is no network. */
const OFFLINE = `import { Socket } from "node:net";
const { connect } = Socket.prototype;
Socket.prototype.connect = function (...args) {
  const [to] = args.flat();
  if (typeof to === "string" || to?.path) return connect.apply(this, args);
  throw new Error("Error: the network was asked for " + JSON.stringify(to));
};
`;
const folder = mkdtempSync(join(tmpdir(), "toren-own-app-"));
const outside = mkdtempSync(join(tmpdir(), "toren-offline-"));
afterAll(() => {
  for (const one of [folder, outside]) rmSync(one, { recursive: true, force: true });
});

test("an app of one's own imports the construct, and its own agents are in the bundles; all of it without a network", () => {
  mkdirSync(join(folder, "node_modules"));
  mkdirSync(join(folder, "crews/greeter"), { recursive: true });
  symlinkSync(ROOT, join(folder, "node_modules/toren"));
  for (const name of ["aws-cdk-lib", "constructs"])
    symlinkSync(join(ROOT, "node_modules", name), join(folder, "node_modules", name));
  writeFileSync(join(folder, "package.json"), '{ "name": "mine", "private": true, "type": "module" }');
  writeFileSync(join(folder, "app.ts"), APP);
  writeFileSync(join(outside, "offline.mjs"), OFFLINE);
  writeFileSync(
    join(folder, "crews/greeter/agent.yaml"),
    "name: greeter\ndescription: Greets.\nroles:\n  host: { system: Greet them heartily., model: openai/gpt-5-mini }\n",
  );
  const out = join(folder, "cdk.out");
  const { status, stderr } = spawnSync(process.execPath, ["--no-warnings", "app.ts"], {
    cwd: folder,
    encoding: "utf8",
    env: {
      ...process.env,
      CDK_OUTDIR: out,
      CDK_CONTEXT_JSON: "{}",
      NODE_OPTIONS: `--no-warnings --import=${join(outside, "offline.mjs")}`,
    },
  });
  expect(stderr).not.toMatch(/Error/);
  expect(status).toBe(0);

  const { Resources, Outputs } = JSON.parse(readFileSync(join(out, "Mine.template.json"), "utf8"));
  const functions = Object.values(Resources as Record<string, { Type: string }>).filter(
    ({ Type }) => Type === "AWS::Lambda::Function",
  );
  expect(functions).toHaveLength(7);
  // Named after the construct, so that several installations in one stack can be told apart.
  expect(Object.keys(Outputs)).toEqual(expect.arrayContaining(["CrewsUrl", "CrewsApiKeySecret", "CrewsKeysSecret"]));
  const assets = readdirSync(out).filter((name) => existsSync(join(out, name, "index.mjs")));
  expect(assets.length).toBeGreaterThanOrEqual(8);
  for (const asset of assets.filter(
    (name) => !readFileSync(join(out, name, "index.mjs"), "utf8").includes("dead letter"),
  ))
    expect(wholeText(join(out, asset))).toContain("Greet them heartily.");
  // What it leaves behind is in its state folder, which git ignores.
  expect(readdirSync(folder).sort()).toEqual([".toren", "app.ts", "cdk.out", "crews", "node_modules", "package.json"]);
  expect(readFileSync(join(folder, ".toren/.gitignore"), "utf8")).toBe("*\n");
});

const wholeText = (bundle: string): string =>
  readdirSync(bundle)
    .filter((name) => name.endsWith(".mjs"))
    .map((name) => readFileSync(join(bundle, name), "utf8"))
    .join("\n");
