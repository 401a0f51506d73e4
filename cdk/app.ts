// `npx cdk synth` reads this file natively. The stack holds the queues so far; functions, database and network come with the deployment.
import { App, Stack } from "aws-cdk-lib";
import { Queues } from "./queues.ts";

/** The stack as it is deployed; tests pass an app of their own. */
export function torenStack(app: App): Stack {
  const stack = new Stack(app, "Toren", { description: "Toren: a durable runtime for AI agents" });
  new Queues(stack, "Queues");
  return stack;
}

if (import.meta.main) torenStack(new App());
