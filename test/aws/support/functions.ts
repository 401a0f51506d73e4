// Functions on the emulator, run by Lambda's own runtime client as processes of this machine: so they can be found, killed and stopped like any other.
import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { awsRest } from "./rest.ts";
import { zipOf } from "./zip.ts";

export interface FunctionSettings {
  readonly name: string;
  readonly folder: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly timeoutS: number;
  readonly memoryMb?: number;
}

const ROLE = "arn:aws:iam::000000000000:role/toren-test";

export async function createFunction(settings: FunctionSettings): Promise<void> {
  await awsRest("lambda", "POST", "/2015-03-31/functions", {
    FunctionName: settings.name,
    Runtime: "nodejs24.x",
    Role: ROLE,
    Handler: "index.handler",
    Timeout: settings.timeoutS,
    MemorySize: settings.memoryMb ?? 1_024,
    Code: { ZipFile: zipOf(settings.folder).toString("base64") },
    Environment: { Variables: settings.environment },
  });
  for (let tries = 0; tries < 240; tries++) {
    const { State } = await awsRest<{ State?: string }>(
      "lambda",
      "GET",
      `/2015-03-31/functions/${settings.name}/configuration`,
    );
    if (State === "Active" || State === undefined) return;
    if (State === "Failed") break;
    await sleep(250);
  }
  throw new Error(`function ${settings.name} did not get active`);
}

/** What the handler answered. @throws what it threw. */
export async function invoke<T = unknown>(name: string, event: unknown): Promise<T> {
  const answer = await awsRest<T & { errorType?: string; errorMessage?: string }>(
    "lambda",
    "POST",
    `/2015-03-31/functions/${name}/invocations`,
    event,
  );
  if (answer?.errorType !== undefined) throw new Error(`${name}: ${answer.errorType}: ${answer.errorMessage}`);
  return answer;
}

export interface Mapping {
  readonly id: string;
  remove(): Promise<void>;
}

export async function consumeFrom(name: string, queueArn: string, batch: number): Promise<Mapping> {
  const { UUID: id } = await awsRest<{ UUID: string }>("lambda", "POST", "/2015-03-31/event-source-mappings/", {
    EventSourceArn: queueArn,
    FunctionName: name,
    BatchSize: batch,
    FunctionResponseTypes: ["ReportBatchItemFailures"],
  });
  const remove = async () => {
    await awsRest("lambda", "DELETE", `/2015-03-31/event-source-mappings/${id}`);
  };
  return { id, remove };
}

export const deleteFunction = async (name: string): Promise<void> => {
  await awsRest("lambda", "DELETE", `/2015-03-31/functions/${name}`);
};

/** Processes that run a function's code right now, or are kept for the next invocation. */
export function processesOf(name: string): number[] {
  const mark = `AWS_LAMBDA_FUNCTION_NAME=${name}\u0000`;
  return readdirSync("/proc")
    .filter((entry) => /^\d+$/.test(entry))
    .filter((pid) => {
      try {
        const command = readFileSync(`/proc/${pid}/cmdline`, "utf8");
        return (
          command.includes("aws-lambda-ric") &&
          !command.includes("aws-lambda-rie") &&
          `${readFileSync(`/proc/${pid}/environ`, "utf8")}\u0000`.includes(mark)
        );
      } catch {
        return false; // ended meanwhile
      }
    })
    .map(Number);
}
