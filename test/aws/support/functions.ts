// Functions on the emulator, run by Lambda's own runtime client as processes of this machine: so they can be found, killed and stopped like any other.
import { readdirSync, readFileSync } from "node:fs";
import { awsRest } from "./rest.ts";

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

/** The function with another time limit: environments that are warm end, the next is cold. */
export async function limitTo(name: string, timeoutS: number): Promise<void> {
  await awsRest("lambda", "PUT", `/2015-03-31/functions/${name}/configuration`, { Timeout: timeoutS });
}

/** What the stack tells it. */
export async function environmentOf(name: string): Promise<Record<string, string>> {
  const path = `/2015-03-31/functions/${name}/configuration`;
  const { Environment } = await awsRest<{ Environment: { Variables: Record<string, string> } }>("lambda", "GET", path);
  return Environment.Variables;
}
