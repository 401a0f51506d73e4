// Permissions for the models on Bedrock that agents ask: an inference profile needs the foundation models behind it allowed too, wherever they run.
import { type Stack, Token } from "aws-cdk-lib";
import type { AgentToDeploy } from "./agents.ts";
import type { Allowed } from "./allow.ts";
import { StackProblem } from "./problem.ts";

const PREFIX = "bedrock/";
const ACTIONS = ["bedrock:InvokeModel", "bedrock:InvokeModelWithResponseStream"];

/** Where inference profiles of a geography can be called from. `global` can be everywhere. */
const GEOGRAPHIES: Readonly<Record<string, RegExp>> = {
  us: /^(us-(east|west)|ca)-/,
  "us-gov": /^us-gov-/,
  eu: /^eu-/,
  apac: /^ap-/,
  jp: /^ap-northeast-[13]$/,
  au: /^ap-southeast-[24]$/,
  ca: /^ca-/,
};
const PROFILE = /^(global|us-gov|us|eu|apac|jp|au|ca)\.(.+)$/;

/** To ask one model. */
export type ModelRight = Allowed;

/** None when no agent asks Bedrock. @throws StackProblem for a model that can't be asked from the stack's region. */
export function modelRights(stack: Stack, agents: readonly AgentToDeploy[]): ModelRight[] {
  const models = new Map<string, string>();
  for (const { name, models: ofAgent } of agents)
    for (const model of ofAgent.filter((m) => m.startsWith(PREFIX)))
      models.set(model.slice(PREFIX.length), models.get(model.slice(PREFIX.length)) ?? name);
  return [...models].sort().flatMap(([model, agent]) => {
    checkRegion(model, agent, stack.region);
    return rightsOf(stack, model);
  });
}

function rightsOf(stack: Stack, model: string): ModelRight[] {
  const allowed = (resource: string): ModelRight => ({ actions: ACTIONS, resources: [resource] });
  /** What lies behind a profile, and only by way of it. */
  const behindProfile = (resource: string, profile: string): ModelRight => ({
    ...allowed(resource),
    conditions: { StringEquals: { "bedrock:InferenceProfileArn": profile } },
    why: "An inference profile sends a call to whichever region has room; the condition holds it to this profile.",
  });
  const foundation = (name: string, region = stack.region): string =>
    `arn:${stack.partition}:bedrock:${region}::foundation-model/${name}`;
  if (model.startsWith("arn:")) {
    // Which models are behind a profile of the user's own isn't known here.
    const isProfile = /:(application-)?inference-profile\//.test(model);
    return [allowed(model), ...(isProfile ? [behindProfile(foundation("*", "*"), model)] : [])];
  }
  const [, , behind] = PROFILE.exec(model) ?? [];
  if (behind === undefined) return [allowed(foundation(model))];
  const profile = stack.formatArn({ service: "bedrock", resource: "inference-profile", resourceName: model });
  return [allowed(profile), behindProfile(foundation(behind, "*"), profile)];
}

function checkRegion(model: string, agent: string, region: string): void {
  const [, geography = ""] = PROFILE.exec(model) ?? [];
  const where = GEOGRAPHIES[geography];
  if (where === undefined) return;
  if (Token.isUnresolved(region))
    throw new StackProblem(
      `Agent ${agent} asks ${PREFIX}${model}, which exists in some regions only: say where to deploy, as in AWS_REGION=… npx cdk deploy.`,
    );
  if (where.test(region)) return;
  throw new StackProblem(
    `Agent ${agent} asks ${PREFIX}${model}, which can't be called from ${region}: take the profile of that region's geography or one that begins with global., or deploy elsewhere.`,
  );
}
