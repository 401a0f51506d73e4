// The worker for long tasks as the stack defines it for ECS: entry point, command, environment. An emulator knows no ECS, so references are filled in here, and
// the worker is a process of this machine.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ACCOUNT, awsVariables, type Deployed, REGION } from "../../../local/aws/deploy.ts";
import { eventually } from "./eventually.ts";
import type { Installation } from "./installation.ts";

export interface WorkerDefinition {
  readonly entryPoint: readonly string[];
  readonly command: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
}

interface Container {
  readonly EntryPoint: readonly string[];
  readonly Command: readonly string[];
  readonly Environment: readonly { readonly Name: string; readonly Value: unknown }[];
}

/** The call by which somebody asks ECS for a worker, of those from the `from`th on. */
export const workerAskedFor = (at: Pick<Installation, "calls">, from: number) =>
  eventually(
    "a worker asked for",
    async () =>
      at
        .calls()
        .slice(from)
        .find(({ operation }) => operation === "RunTask" || operation === "DescribeTasks") ?? null,
    180_000,
  );

export function workerOf(deployed: Deployed): WorkerDefinition {
  const definition = Object.values(deployed.template.Resources).find(({ Type }) => Type === "AWS::ECS::TaskDefinition");
  const [container] = (definition?.Properties?.ContainerDefinitions ?? []) as readonly Container[];
  if (container === undefined) throw new Error("the stack defines no worker for long tasks");
  return {
    entryPoint: container.EntryPoint,
    command: container.Command,
    environment: Object.fromEntries(container.Environment.map(({ Name, Value }) => [Name, textOf(deployed, Value)])),
  };
}

function textOf(deployed: Deployed, value: unknown): string {
  if (typeof value === "string") return value;
  const { Ref, "Fn::GetAtt": attribute, "Fn::Sub": text, "Fn::Join": joined } = value as Record<string, unknown>;
  const physical = (id: string) => deployed.resources.find(({ logicalId }) => logicalId === id);
  if (Ref === "AWS::Region") return REGION;
  if (typeof Ref === "string") return physical(Ref)?.physicalId ?? "";
  if (typeof text === "string")
    return text.replace(/\$\{AWS::(AccountId|Region)\}/g, (_, name) => (name === "Region" ? REGION : ACCOUNT));
  if (Array.isArray(joined))
    return (joined[1] as unknown[]).map((part) => textOf(deployed, part)).join(String(joined[0]));
  const [of = "", name = ""] = (attribute ?? []) as string[];
  const { type, physicalId = "" } = physical(of) ?? {};
  if (type === "AWS::SQS::Queue") return `arn:aws:sqs:${REGION}:${ACCOUNT}:${physicalId.split("/").at(-1)}`;
  if (type === "AWS::IAM::Role") return `arn:aws:iam::${ACCOUNT}:role/${physicalId}`;
  return `${physicalId}.${name}`; // the generation, which is for logs
}

/** Who it is in what the emulator's recorder writes down. */
export const WORKER = "long-task";

export interface Worker {
  readonly process: ChildProcess;
  /** Asks it to end, as ECS does, and waits until it has. */
  stop(): Promise<void>;
}

/** What ECS would run in the container, with the environment of the stack. */
export async function startWorker({ deployed, databaseUrl }: Installation): Promise<Worker> {
  const { entryPoint, command, environment } = workerOf(deployed);
  const folder = await mkdtemp(join(tmpdir(), "toren-worker-"));
  const child = spawn(process.execPath, [...entryPoint.slice(1), ...command], {
    cwd: folder,
    stdio: ["ignore", "ignore", "inherit"],
    env: {
      PATH: process.env.PATH,
      ...environment,
      ...awsVariables(process.env.AWS_ENDPOINT_URL ?? ""),
      AWS_ACCESS_KEY_ID: `as.${WORKER}`,
      DATABASE_URL: databaseUrl("long-task"),
      TOREN_BUNDLE_FOLDER: folder,
    },
  });
  const ended = once(child, "exit");
  return {
    process: child,
    stop: async () => {
      child.kill("SIGTERM");
      await ended;
      await rm(folder, { recursive: true, force: true });
    },
  };
}
