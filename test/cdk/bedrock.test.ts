import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "@jest/globals";
import { Stack } from "aws-cdk-lib";
import { readAgents } from "../../cdk/agents.ts";
import { modelRights } from "../../cdk/bedrock.ts";
import { appWith } from "./support.ts";

const folder = mkdtempSync(join(tmpdir(), "toren-bedrock-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let made = 0;
/** Rights for one agent of these models, as text in which tokens are named. */
function rightsFor(models: readonly string[], region: string | null = "us-east-1"): unknown {
  const agents = join(folder, String(made++));
  mkdirSync(join(agents, "one"), { recursive: true });
  const roles = models.map((model, i) => `  r${i}: { system: Hello., model: "${model}" }`).join("\n");
  writeFileSync(join(agents, "one/agent.yaml"), `name: one\ndescription: One.\nroles:\n${roles}\n`);
  const stack = new Stack(appWith(), "Toren", region === null ? {} : { env: { region, account: "123456789012" } });
  return stack.resolve(modelRights(stack, readAgents(agents)));
}
const ACTIONS = ["bedrock:InvokeModel", "bedrock:InvokeModelWithResponseStream"];

test("agents that ask nothing of Bedrock have no right to", () => {
  expect(rightsFor(["anthropic/claude-sonnet-4-5", "openai/gpt-5-mini"])).toEqual([]);
});

test("a model by its id is allowed in the stack's own region alone", () => {
  expect(rightsFor(["bedrock/amazon.nova-lite-v1:0", "bedrock/amazon.nova-lite-v1:0"])).toEqual([
    { actions: ACTIONS, resources: ["arn:aws:bedrock:us-east-1::foundation-model/amazon.nova-lite-v1:0"] },
  ]);
});

test("an inference profile is allowed with the models behind it, wherever they run, and those by way of it alone", () => {
  const profile = "arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-sonnet-4-5-v1:0";
  expect(rightsFor(["bedrock/us.anthropic.claude-sonnet-4-5-v1:0"])).toEqual([
    { actions: ACTIONS, resources: [profile] },
    {
      actions: ACTIONS,
      resources: ["arn:aws:bedrock:*::foundation-model/anthropic.claude-sonnet-4-5-v1:0"],
      conditions: { StringEquals: { "bedrock:InferenceProfileArn": profile } },
      why: expect.any(String),
    },
  ]);
});

test("a profile by its ARN is allowed with whatever is behind it", () => {
  const profile = "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abc123";
  expect(rightsFor([`bedrock/${profile}`])).toEqual([
    { actions: ACTIONS, resources: [profile] },
    expect.objectContaining({ conditions: { StringEquals: { "bedrock:InferenceProfileArn": profile } } }),
  ]);
});

test("a profile of another geography is refused, with what to do", () => {
  expect(() => rightsFor(["bedrock/eu.amazon.nova-lite-v1:0"], "us-east-1")).toThrow(
    /Agent one asks bedrock\/eu\.amazon\.nova-lite-v1:0, which can't be called from us-east-1: take the profile of/,
  );
  expect(rightsFor(["bedrock/global.anthropic.claude-sonnet-4-5-v1:0"], "eu-central-1")).toHaveLength(2);
});

test("without a region it isn't known whether a profile can be called: that is said", () => {
  expect(() => rightsFor(["bedrock/us.amazon.nova-lite-v1:0"], null)).toThrow(/say where to deploy, as in AWS_REGION=/);
});
