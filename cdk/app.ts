// `npx cdk deploy` comes here by start.mjs: agents/ as one stack. Options are given as context (`-c profile=production`); an app of your own gives them to
// the construct (cdk/toren.ts).
import { App, Stack } from "aws-cdk-lib";
import { checkNames, optionsOf } from "./options.ts";
import { StackProblem } from "./problem.ts";
import { Toren } from "./toren.ts";

/** The stack as it is deployed; tests pass an app of their own. @throws StackProblem */
export function torenStack(app: App, region: string | null = process.env.CDK_DEFAULT_REGION || null): Stack {
  const stack = new Stack(app, "Toren", {
    description: "Toren: a durable runtime for AI agents",
    ...(region === null ? {} : { env: { region } }),
  });
  checkNames(Object.keys(app.node.getAllContext()));
  new Toren(
    stack,
    "Toren",
    optionsOf((name) => app.node.tryGetContext(name)),
  );
  return stack;
}

/** Says what is wrong, and what CDK would say less clearly after it. */
export function main(): void {
  try {
    torenStack(new App());
  } catch (e) {
    if (!(e instanceof StackProblem)) throw e;
    console.error(e.message);
    process.exit(1); // at once: an app whose process ends by itself is synthesised, as far as it came
  }
  // CDK's command line sets it when it finds credentials.
  if (!process.env.CDK_DEFAULT_ACCOUNT)
    console.error(
      "No credentials of AWS were found, which is enough to look at the template. To deploy, sign in first: `aws sts get-caller-identity` must answer.",
    );
}
