// Deploys the stack as it is (cdk/app.ts) to an emulator of AWS: bootstrap, synth, the template fitted to what emulators can hold, deploy. All by CDK's own
// command line, against an address on this machine or one that the user names.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { type FunctionName, fitTemplate, functionOf, type Template } from "./fit-template.ts";
import { awsRequest } from "./request.ts";
import { type DeployedResource, isUnknown, pretended } from "./unheld.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const CDK = join(ROOT, "node_modules/aws-cdk/bin/cdk");
export const STACK = "Toren";
export const ACCOUNT = "000000000000";
export const REGION = "us-east-1";
/** Emulators take any; this pair is their own example. */
export const CREDENTIALS = { accessKeyId: "test", secretAccessKey: "test" };

export interface EmulatorDeployment {
  /** Where the emulator answers. */
  readonly endpoint: string;
  /** For what is built: the assembly and the bundles. */
  readonly workFolder: string;
  readonly agentsFolder: string;
  /** The emulator has what CDK needs since a deployment before. Default: false. */
  readonly bootstrapped?: boolean;
  /** What functions are told beside what the stack tells them. */
  environment(name: FunctionName): Readonly<Record<string, string>>;
  /** One line for each part, as it begins. */
  say(line: string): void;
}

export interface Deployed {
  /** By the names of cdk/toren.ts: `TorenUrl`, `TorenApiKeySecret`, … */
  readonly outputs: Readonly<Record<string, string>>;
  readonly resources: readonly DeployedResource[];
  /** The template as it was deployed. */
  readonly template: Template;
  /** Where the API answers, with a slash at the end. */
  readonly apiUrl: string;
  /** CloudFormation's part was done: false where the emulator knows no custom resources. */
  readonly migrated: boolean;
}

/** What clients of AWS, and CDK, find in their environment to speak to an emulator. */
export const awsVariables = (endpoint: string): Record<string, string> => ({
  AWS_ENDPOINT_URL: endpoint,
  AWS_ENDPOINT_URL_S3: endpoint,
  AWS_REGION: REGION,
  AWS_DEFAULT_REGION: REGION,
  AWS_ACCESS_KEY_ID: CREDENTIALS.accessKeyId,
  AWS_SECRET_ACCESS_KEY: CREDENTIALS.secretAccessKey,
});

/** @throws with CDK's own words, or when the emulator only pretends to have made something that no list names. */
export async function deployToEmulator(deployment: EmulatorDeployment): Promise<Deployed> {
  const { endpoint, workFolder, agentsFolder, environment, say, bootstrapped = false } = deployment;
  // CDK would synthesize a folder's app to bootstrap from there.
  const elsewhere = join(workFolder, "bootstrap");
  await mkdir(elsewhere, { recursive: true });
  const { context } = JSON.parse(await readFile(join(ROOT, "cdk.json"), "utf8")) as { context: object };
  const app = `"${process.execPath}" "${join(ROOT, "cdk/start.mjs")}"`;
  const config = { app, context: { ...context, agents: resolve(agentsFolder) } };
  await writeFile(join(workFolder, "cdk.json"), JSON.stringify(config));
  const cdk = (...args: string[]) => run(workFolder, endpoint, args);
  const bootstrap = async (): Promise<void> => {
    if (!bootstrapped) await run(elsewhere, endpoint, ["bootstrap", `aws://${ACCOUNT}/${REGION}`]);
  };
  say("bundles, the template, and what CDK needs on the emulator");
  await Promise.all([cdk("synth", "--quiet", "--output", "cdk.out"), bootstrap()]);
  const file = join(workFolder, `cdk.out/${STACK}.template.json`);
  const template = fitTemplate(JSON.parse(await readFile(file, "utf8")) as Template, environment);
  await writeFile(file, JSON.stringify(template));
  say("the stack");
  const outputs = join(workFolder, "outputs.json");
  await cdk("deploy", "--app", "cdk.out", "--require-approval", "never", "--outputs-file", outputs);
  const resources = await resourcesOf(endpoint);
  const wrong = pretended(resources);
  if (wrong.length > 0)
    throw new Error(
      `The emulator only pretends to have made ${wrong.map((r) => `${r.logicalId} (${r.type})`).join(", ")}`,
    );
  const read = JSON.parse(await readFile(outputs, "utf8")) as Record<string, Record<string, string>>;
  return deployedOf(endpoint, template, read[STACK] ?? {}, resources);
}

function deployedOf(
  endpoint: string,
  template: Template,
  outputs: Readonly<Record<string, string>>,
  resources: readonly DeployedResource[],
): Deployed {
  const [, apiId] = /^https?:\/\/([^.]+)\./.exec(outputs.TorenUrl ?? "") ?? [];
  const [, stage] = /([^/]+)\/$/.exec(outputs.TorenUrl ?? "") ?? [];
  return {
    outputs,
    resources,
    template,
    apiUrl: new URL(`/_aws/execute-api/${apiId}/${stage}/`, endpoint).href,
    migrated: resources.some((resource) => resource.type === "Custom::TorenMigration" && !isUnknown(resource)),
  };
}

/** The function's name on the emulator. */
export function functionNamed({ resources }: Pick<Deployed, "resources">, name: FunctionName): string {
  const found = resources.find(({ logicalId }) => functionOf(logicalId) === name);
  if (found === undefined) throw new Error(`no function ${name} was deployed`);
  return found.physicalId;
}

/** CDK without telemetry, its questions and its colours. */
async function run(folder: string, endpoint: string, args: readonly string[]): Promise<void> {
  const child = spawn(process.execPath, [CDK, ...args], {
    cwd: folder,
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, ...awsVariables(endpoint), CDK_DISABLE_CLI_TELEMETRY: "true", NO_COLOR: "1", CI: "true" },
  });
  let said = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (chunk) => {
      said += String(chunk);
    });
  const [code] = await once(child, "exit");
  if (code !== 0) throw new Error(`cdk ${args[0]} failed:\n${said.slice(-4_000)}`);
}

async function resourcesOf(endpoint: string): Promise<DeployedResource[]> {
  const body = new URLSearchParams({ Action: "DescribeStackResources", StackName: STACK, Version: "2010-05-15" });
  const xml = await awsRequest(endpoint, "cloudformation", "POST", "/", body);
  return [...xml.matchAll(/<member>(.*?)<\/member>/gs)].flatMap(([, member = ""]) => {
    const field = (name: string): string => new RegExp(`<${name}>(.*?)</${name}>`, "s").exec(member)?.[1] ?? "";
    const [logicalId, type] = [field("LogicalResourceId"), field("ResourceType")];
    return logicalId === "" ? [] : [{ logicalId, type, physicalId: field("PhysicalResourceId") }];
  });
}
