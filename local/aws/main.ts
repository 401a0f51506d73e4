// npm run local:aws: deploys the stack to an emulator of AWS, and has the demo's agent answer through API Gateway, SQS, Lambda and Postgres. What an emulator
// can't hold is named. docs/how-to/try-the-stack-locally.md says how one is started.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join, relative, resolve } from "node:path";
import { parseArgs } from "node:util";
import { GetSecretValueCommand, PutSecretValueCommand, SecretsManagerClient } from "@aws-sdk/client-secrets-manager";
import { openEmbedded } from "../../shared/adapters/database/embedded.ts";
import { messageOf } from "../../shared/core/errors.ts";
import { startModelServer } from "../model-server/server.ts";
import { CREDENTIALS, type Deployed, deployToEmulator, REGION } from "./deploy.ts";
import { migrateByHand } from "./migrate-by-hand.ts";
import { isUnknown } from "./unheld.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const AGENT = "research_crew";
const QUESTION = "How do I take a base backup and recover to a point in time?";

const USAGE = `npm run local:aws -- [options]

Deploys the stack to an emulator of AWS, and asks agents/${AGENT} a question through it.

  --endpoint URL       the emulator (default: http://127.0.0.1:4566, local/aws/docker-compose.yml's)
  --database-url URL   Postgres, as functions reach it (default: local/aws/docker-compose.yml's)
  --model-url URL      what speaks OpenAI's chat completions, as functions reach it (default: its rule-based one)
  --here               functions are processes of this machine (an emulator without Docker): a Postgres and the
                       rule-based model are started beside them, and end with this command, on Ctrl-C
  --question TEXT      what to ask
  --help               this
`;

interface Surroundings {
  readonly databaseUrl: string;
  readonly modelUrl: string;
  close(): Promise<void>;
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      endpoint: { type: "string", default: "http://127.0.0.1:4566" },
      "database-url": { type: "string", default: "postgres://toren:toren@postgres:5432/toren" },
      "model-url": { type: "string", default: "http://model:4567/v1" },
      here: { type: "boolean", default: false },
      question: { type: "string", default: QUESTION },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) return void process.stdout.write(USAGE);
  await answering(values.endpoint);
  const given = { databaseUrl: values["database-url"], modelUrl: values["model-url"], close: async () => {} };
  const around = values.here ? await startHere() : given;
  try {
    const deployed = await deploy(values.endpoint, around);
    const key = await keysOf(values.endpoint, deployed, around);
    process.exitCode = await ask(deployed, key, values.question);
    process.stdout.write("\n");
    say("next", `TOREN_URL=${deployed.apiUrl} TOREN_API_KEY=${key} npx toren jobs list`);
    if (values.here && process.stdin.isTTY) await interrupted();
  } finally {
    await around.close();
  }
}

/** What was started here is the deployed stack's: it lives as long as somebody looks. */
async function interrupted(): Promise<void> {
  say("until", "Ctrl-C, which ends the database and the model");
  await new Promise((resolve) => process.once("SIGINT", resolve));
}

async function answering(endpoint: string): Promise<void> {
  const answer = await fetch(endpoint).catch(() => null);
  if (answer === null)
    throw new Error(
      `No emulator answers at ${endpoint}. Start one first: docker compose -f local/aws/docker-compose.yml up -d --wait`,
    );
}

async function startHere(): Promise<Surroundings> {
  const folder = resolve(".toren/aws");
  const database = await openEmbedded(folder);
  say("database", `an embedded Postgres in ${relative(process.cwd(), folder)}, port ${database.port}`);
  const model = await startModelServer({ port: 0, minLatencyMs: 300, maxLatencyMs: 800 });
  say("model", "fixed rules, no language model; simulated costs");
  const close = async (): Promise<void> => {
    await model.close();
    await database.close();
  };
  return { databaseUrl: database.url, modelUrl: model.url, close };
}

async function deploy(endpoint: string, { databaseUrl }: Surroundings): Promise<Deployed> {
  const deployed = await deployToEmulator({
    endpoint,
    workFolder: resolve(".toren/aws/stack"),
    agentsFolder: join(ROOT, "agents"),
    environment: () => ({ DATABASE_URL: databaseUrl }),
    say: (line) => say("cdk", line),
  });
  const held = deployed.resources.filter((resource) => !isUnknown(resource));
  const services = deployed.resources.filter(isUnknown).map(({ type }) => type.split("::")[1] ?? type);
  const without = [...new Set(services)].sort().join(", ");
  say(
    "deployed",
    `${held.length} of ${deployed.resources.length} resources; parts of ${without} in name alone (local/aws/unheld.ts)`,
  );
  if (!deployed.migrated) await migrateByHand(endpoint, deployed);
  say("migrated", deployed.migrated ? "by CloudFormation" : "by hand: this emulator knows no custom resources");
  return deployed;
}

/** Fills the secret of providers' keys, and reads the first API key. */
async function keysOf(endpoint: string, { outputs }: Deployed, { modelUrl }: Surroundings): Promise<string> {
  const secrets = new SecretsManagerClient({ endpoint, region: REGION, credentials: CREDENTIALS });
  const SecretString = JSON.stringify({ OPENAI_API_KEY: "rules", OPENAI_BASE_URL: modelUrl });
  await secrets.send(new PutSecretValueCommand({ SecretId: outputs.TorenKeysSecret, SecretString }));
  const { SecretString: key = "" } = await secrets.send(
    new GetSecretValueCommand({ SecretId: outputs.TorenApiKeySecret }),
  );
  return key;
}

/** As a user does, with the command line. */
async function ask({ apiUrl }: Deployed, key: string, question: string): Promise<number> {
  say("api", apiUrl);
  say("run", `toren run ${AGENT} ${JSON.stringify(question)} --files agents/${AGENT}/corpus\n`);
  const args = [join(ROOT, "local/cli.ts"), "run", AGENT, question, "--files", join(ROOT, `agents/${AGENT}/corpus`)];
  const child = spawn(process.execPath, args, {
    stdio: "inherit",
    env: { ...process.env, TOREN_URL: apiUrl, TOREN_API_KEY: key },
  });
  const [code] = await once(child, "exit");
  return code ?? 1;
}

const began = performance.now();
function say(label: string, text: string): void {
  const seconds = ((performance.now() - began) / 1_000).toFixed(1);
  process.stdout.write(`${seconds.padStart(6)} s  ${label.padEnd(10)} ${text}\n`);
}

main().catch((thrown: unknown) => {
  process.stderr.write(`local:aws: ${messageOf(thrown)}\n`);
  process.exitCode = 1;
});
