// What people get wrong, as they meet it: the app that `npx cdk synth` runs, in a process of its own.
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, describe, expect, jest, test } from "@jest/globals";
import { ROOT } from "../repo/files.ts";

jest.setTimeout(120_000); // each process loads CDK

const folder = mkdtempSync(join(tmpdir(), "toren-bad-input-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let made = 0;

/** A folder of agents of these files. */
function agentsOf(files: Readonly<Record<string, string>>): string {
  const agents = join(folder, `agents${made++}`);
  mkdirSync(agents);
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(agents, path)), { recursive: true });
    writeFileSync(join(agents, path), text);
  }
  return agents;
}

const YAML = "name: one\ndescription: One.\nroles:\n  a: { system: Hello., model: openai/gpt-5-mini }\n";

interface Ended {
  readonly status: number | null;
  readonly said: string;
}
/** `bundles`: built, as a deploy does; else left out, as `cdk ls` does. */
function synth(
  context: Record<string, string>,
  { region = "us-east-1", bundles = false, account = "123456789012", first = [] as readonly string[] } = {},
): Ended {
  const out = join(folder, `out${made++}`);
  const skipped = bundles ? {} : { "aws:cdk:bundling-stacks": [] };
  const { status, stderr } = spawnSync(process.execPath, ["--no-warnings", ...first, join(ROOT, "cdk/start.mjs")], {
    cwd: ROOT,
    encoding: "utf8",
    env: {
      ...process.env,
      CDK_OUTDIR: out,
      CDK_DEFAULT_REGION: region,
      CDK_DEFAULT_ACCOUNT: account,
      CDK_CONTEXT_JSON: JSON.stringify({ ...skipped, ...context }),
    },
  });
  return { status, said: stderr.trim() };
}

/** One or a few lines that say what to do; nothing of how the program is built. */
function expectSentence({ status, said }: Ended, pattern: RegExp): void {
  expect(said).toMatch(pattern);
  expect(said).not.toMatch(/\n\s+at |StackProblem|node:internal/);
  expect(status).toBe(1);
}

describe("cdk synth ends with a sentence that says what to do", () => {
  test("without agents", () => {
    expectSentence(
      synth({ agents: join(folder, "nowhere") }),
      /^There is no folder .*nowhere: put your agents there, agents\/<name>\//,
    );
    expectSentence(
      synth({ agents: agentsOf({ "readme.txt": "" }) }),
      /holds no agent: there is nothing to deploy\. Make a folder .* with an agent\.yaml\.$/,
    );
  });

  test("with a broken agent.yaml: file, line, and everything that is wrong", () => {
    const agents = agentsOf({
      "one/agent.yaml": "name: one\nroles:\n  a: { sistem: Hello. }\n",
      "two/agent.yaml": "name: [\n",
      "three/tools.ts": "",
    });
    const ended = synth({ agents });
    expectSentence(ended, /^The agents can't be deployed as they are:\n/);
    expect(ended.said).toMatch(/one\/agent\.yaml:3: .*sistem.*did you mean "system"/);
    expect(ended.said).toMatch(/two\/agent\.yaml:\d+: /);
    expect(ended.said).toMatch(/three\/agent\.yaml: there is no agent\.yaml that can be read/);
  });

  test("with code that can't be bundled: file and line", () => {
    const agents = agentsOf({
      "one/agent.yaml": YAML,
      "one/tools.ts": 'import { nothing } from "./missing.ts";\nexport const tools = [nothing];\n',
    });
    expectSentence(synth({ agents }, { bundles: true }), /one\/tools\.ts:1: .*missing/);
  });

  test("with code that throws when it is loaded", () => {
    const agents = agentsOf({ "one/agent.yaml": YAML, "one/tools.ts": 'throw new Error("no network here");\n' });
    expectSentence(synth({ agents }, { bundles: true }), /one\/tools\.ts.*no network here/s);
  });

  test("with an unknown profile", () => {
    expectSentence(synth({ profile: "prodution" }), /^There is no profile "prodution"\. Did you mean "production"\?$/);
  });

  test("with an option that there isn't, which would be ignored", () => {
    expectSentence(synth({ profil: "production" }), /^There is no option "profil"\. Did you mean "profile"\?$/);
  });

  test("in a region without what the stack needs", () => {
    expectSentence(
      synth({}, { region: "eu-nowhere-1" }),
      /^Toren knows no certificates of RDS in eu-nowhere-1: deploy to another region, or/,
    );
    const agents = agentsOf({
      "one/agent.yaml": YAML.replace("openai/gpt-5-mini", "bedrock/us.amazon.nova-lite-v1:0"),
    });
    expectSentence(
      synth({ agents }, { region: "eu-central-1" }),
      /^Agent one asks bedrock\/us\.amazon.* can't be called from eu-central-1: take /,
    );
  });

  test("with a Node that can't read the stack", () => {
    const older = 'Object.defineProperty(process, "versions", { value: { ...process.versions, node: "20.1.0" } });';
    expectSentence(
      synth({}, { first: ["--import", `data:text/javascript,${encodeURIComponent(older)}`] }),
      /^The stack needs Node 24 or newer; this is v.*install it\.$/,
    );
  });

  test("without credentials the template is made all the same, with a word about a deploy", () => {
    expect(synth({}, { account: "" })).toEqual({
      status: 0,
      said: expect.stringMatching(/^No credentials of AWS were found.*sign in first/),
    });
  });

  test("without a region, where it matters", () => {
    const agents = agentsOf({
      "one/agent.yaml": YAML.replace("openai/gpt-5-mini", "bedrock/us.amazon.nova-lite-v1:0"),
    });
    expectSentence(synth({ agents }, { region: "" }), /say where to deploy, as in AWS_REGION=… npx cdk deploy\.$/);
    expect(synth({}, { region: "" })).toEqual({ status: 0, said: "" });
  });
});
