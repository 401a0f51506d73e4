// IAM, which no emulator enforces: each call that a function made in the tests before, and what Lambda does with its role, held against the statements of that
// function's role as the stack made it. This file runs last (support/last.mjs).
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { functionNamed } from "../../local/aws/deploy.ts";
import { FUNCTIONS, type FunctionName, functionOf } from "../../local/aws/fit-template.ts";
import { mayDo, type Need, needsOf, needsOfLambda, policyOf, type RolePolicy } from "./support/iam.ts";
import { DEPLOY_MS, type Installation, openInstallation } from "./support/installation.ts";

let at: Installation;
const policies = new Map<FunctionName, RolePolicy>();
beforeAll(async () => {
  at = await openInstallation();
  for (const name of FUNCTIONS)
    policies.set(name, await policyOf(process.env.AWS_ENDPOINT_URL ?? "", at.deployed, logicalId(name)));
}, DEPLOY_MS);
afterAll(() => at?.close());

const logicalId = (name: FunctionName): string =>
  Object.keys(at.deployed.template.Resources).find((id) => functionOf(id) === name) ?? "";

/** Each once: of a thousand messages to one queue one is looked at. */
function needs(name: FunctionName): Need[] {
  const called = at
    .calls()
    .filter((call) => call.function === functionNamed(at.deployed, name) && call.operation !== "doubled");
  const all = [...needsOfLambda(at.deployed, logicalId(name)), ...called.flatMap((call) => needsOf(call, at.deployed))];
  return [...new Map(all.map((need) => [JSON.stringify(need), need])).values()];
}

const used = new Set<string>();

describe.each(FUNCTIONS)("%s", (name) => {
  test("may do what it does", async () => {
    const role = policies.get(name);
    if (role === undefined) throw new Error(`${name} has no role`);
    const denied: Need[] = [];
    for (const need of needs(name)) {
      const { allowed, statements } = await mayDo(role, need);
      if (!allowed) denied.push(need);
      for (const statement of statements) used.add(`${name} ${statement}`);
    }
    expect(denied).toEqual([]);
  });
});

test("a call that no statement names is denied", async () => {
  const [events, queue] = [policies.get("events"), at.queueUrl("ticks")];
  if (events === undefined) throw new Error("events has no role");
  const resource = `arn:aws:sqs:us-east-1:000000000000:${queue.split("/").at(-1)}`;
  expect(await mayDo(events, { action: "sqs:SendMessage", resource })).toEqual({ allowed: false, statements: [] });
});

test("the functions that the tests before have worked with did call AWS", () => {
  const silent = FUNCTIONS.filter(
    (name) => !at.calls().some((call) => call.function === functionNamed(at.deployed, name)),
  );
  // Neither asks AWS for anything by itself: Lambda brings them their messages and requests.
  expect(silent).toEqual(["dead-letter", "events"]);
});

test("statements that nothing used are reported", () => {
  const lines = [...policies].flatMap(([name, { policies: all }]) =>
    all.flatMap(({ name: policy, policy: document }) =>
      (document as { Statement: { Effect: string; Action: unknown }[] }).Statement.flatMap(({ Effect, Action }, i) =>
        Effect !== "Allow" || used.has(`${name} ${policy} ${i + 1}`) ? [] : [`${name}: ${[Action].flat().join(", ")}`],
      ),
    ),
  );
  console.info(`Statements of roles that these tests never used:\n${lines.join("\n")}`);
  expect(used.size).toBeGreaterThan(0);
});
