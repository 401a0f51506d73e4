// What people ask of a deployed stack from their own machine: `toren smoke` from outside, `toren doctor --aws` from inside.
import { execFile } from "node:child_process";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { GetSecretValueCommand, PutSecretValueCommand, SecretsManagerClient } from "@aws-sdk/client-secrets-manager";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { awsVariables, STACK } from "../../../local/aws/deploy.ts";
import { agentsFolder } from "../support/deployment.ts";
import { DEPLOY_MS, type Installation, openInstallation } from "../support/installation.ts";

let at: Installation;
beforeAll(async () => {
  at = await openInstallation();
}, DEPLOY_MS);
afterAll(() => at?.close());

const run = promisify(execFile);
const CLI = resolve(import.meta.dirname, "../../../local/cli.ts");

interface Said {
  readonly code: number;
  readonly out: { readonly ok: boolean; readonly checks: Line[]; readonly findings: Line[] };
}
interface Line {
  readonly what: string;
  readonly ok?: boolean;
  readonly state?: string;
  readonly found: string;
}

async function toren(args: readonly string[], env: Readonly<Record<string, string>>): Promise<Said> {
  const { PATH = "" } = process.env;
  const home = join(process.env.TOREN_TEST_AWS_FOLDER ?? "", "state");
  const { stdout, code } = await run(process.execPath, ["--no-warnings", CLI, ...args, "--json"], {
    env: { PATH, TOREN_HOME: home, ...env },
  }).then(
    (done) => ({ ...done, code: 0 }),
    (e: { stdout: string; code: number }) => e,
  );
  return { code, out: JSON.parse(stdout) as Said["out"] };
}

const smoke = (key: string): Promise<Said> =>
  toren(["smoke", "--agent", "probe"], { TOREN_URL: at.deployed.apiUrl, TOREN_API_KEY: key });
const doctor = (): Promise<Said> =>
  toren(["doctor", "--aws", STACK, "--agents", agentsFolder()], awsVariables(process.env.AWS_ENDPOINT_URL ?? ""));

test("toren smoke: each of its checks is met, and the run that it starts ends", async () => {
  await at.model(5, 20);
  const { code, out } = await smoke(at.key);
  expect(out.checks.map(({ what, ok }) => [what, ok])).toEqual(
    ["health", "strangers", "agents", "start", "run", "log"].map((what) => [what, true]),
  );
  expect(code).toBe(0);
}, 120_000);

test("toren smoke with a key that isn't this installation's says so, and fails", async () => {
  const { code, out } = await smoke(`${at.key.slice(0, -8)}00000000`);
  expect(code).not.toBe(0);
  expect(out.checks.filter(({ ok }) => ok === false).map(({ what }) => what)).toContain("agents");
}, 60_000);

test("toren doctor --aws: quota, keys, a call of each model, alarms, queues and the guardian's last pass, as AWS' interfaces tell", async () => {
  const { code, out } = await doctor();
  const states = new Map(out.findings.map(({ what, state }) => [what, state]));
  // No RDS here: nobody counts its connections.
  expect([...states.keys()]).toEqual(
    expect.arrayContaining([
      `stack ${STACK}`,
      "lambda quota",
      "keys",
      "model openai/rules",
      "alarms",
      "queue ticks",
      "connections",
    ]),
  );
  expect(states.get("guardian")).toBe("ok");
  expect(out.findings.filter(({ state }) => state === "wrong")).toEqual([]);
  expect([code, out.ok]).toEqual([0, true]);
}, 120_000);

test("toren doctor --aws names a provider's key that is missing, and a model that nobody can ask", async () => {
  const secrets = new SecretsManagerClient({});
  const SecretId = at.deployed.outputs.TorenKeysSecret;
  const { SecretString } = await secrets.send(new GetSecretValueCommand({ SecretId }));
  await secrets.send(new PutSecretValueCommand({ SecretId, SecretString: "{}" }));
  try {
    const { code, out } = await doctor();
    expect(code).not.toBe(0);
    expect(out.findings.find(({ what }) => what === "keys")).toMatchObject({
      state: "note",
      found: expect.stringContaining("none in"),
    });
    expect(out.findings.find(({ what }) => what === "model openai/rules")).toMatchObject({
      state: "wrong",
      found: expect.stringContaining("OPENAI_API_KEY"),
    });
  } finally {
    await secrets.send(new PutSecretValueCommand({ SecretId, SecretString }));
  }
}, 120_000);
