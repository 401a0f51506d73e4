// IAM, which no emulator enforces: each call that was made in the tests before, and what AWS' services do with the stack's roles, held against the statements of
// those roles and the policies of what they ask for, as the stack made them. This file runs last (support/last.mjs).
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { DATABASE_USERS, type DatabaseUserOf } from "../../cdk/connections.ts";
import { ACCOUNT, functionNamed } from "../../local/aws/deploy.ts";
import { FUNCTIONS, type FunctionName, functionOf } from "../../local/aws/fit-template.ts";
import { mayDo, mayServiceDo, policyOf, type RolePolicy, resourcePolicies, roleNameOf } from "./support/iam.ts";
import {
  arn,
  type Need,
  needOfDatabase,
  needsOf,
  needsOfEcs,
  needsOfLambda,
  queueArn,
  roleArn,
  roleNameOfWorkers,
} from "./support/iam-needs.ts";
import { DEPLOY_MS, type Installation, openInstallation } from "./support/installation.ts";
import { WORKER } from "./support/worker.ts";

/** The worker for long tasks is a plain process in the tests, with a name in place of a role. */
const CALLERS = [...FUNCTIONS, WORKER] as const;
type Caller = (typeof CALLERS)[number];

let at: Installation;
let onResources: Awaited<ReturnType<typeof resourcePolicies>>;
const roles = new Map<Caller | "timers" | "ecs", RolePolicy>();
beforeAll(async () => {
  at = await openInstallation();
  const endpoint = process.env.AWS_ENDPOINT_URL ?? "";
  onResources = await resourcePolicies(endpoint, at.deployed);
  for (const name of FUNCTIONS) roles.set(name, await policyOf(endpoint, roleNameOf(at.deployed, logicalId(name))));
  roles.set(WORKER, await policyOf(endpoint, roleNameOfWorkers(at.deployed, "TaskRole")));
  roles.set("ecs", await policyOf(endpoint, roleNameOfWorkers(at.deployed, "ExecutionRole")));
  roles.set("timers", await policyOf(endpoint, physicalOf("AWS::IAM::Role", /^TorenTimersRole/)));
}, DEPLOY_MS);
afterAll(() => at?.close());

const logicalId = (name: FunctionName): string =>
  Object.keys(at.deployed.template.Resources).find((id) => functionOf(id) === name) ?? "";
const physicalOf = (wanted: string, id: RegExp): string =>
  at.deployed.resources.find(({ type, logicalId: one }) => type === wanted && id.test(one))?.physicalId ?? "";
const functionArn = (name: FunctionName): string => arn("lambda", `function:${functionNamed(at.deployed, name)}`);
const roleOf = (name: Caller | "timers" | "ecs"): RolePolicy => {
  const role = roles.get(name);
  if (role === undefined) throw new Error(`${name} has no role`);
  return role;
};

/** Each once: of a thousand messages to one queue one is looked at. */
function called(name: Caller): Need[] {
  const as = name === WORKER ? WORKER : functionNamed(at.deployed, name);
  const calls = at.calls().filter((call) => call.function === as && call.operation !== "doubled");
  const all = calls.flatMap((call) => needsOf(call, at.deployed));
  return [...new Map(all.map((need) => [JSON.stringify(need), need])).values()];
}

const needs = (name: Caller): Need[] => [
  ...(name === WORKER ? [] : needsOfLambda(at.deployed, logicalId(name))),
  ...(name === "migrate" ? [] : [needOfDatabase(name)]),
  ...called(name),
];

const used = new Set<string>();

async function denied(name: Caller | "timers" | "ecs", wanted: readonly Need[]): Promise<Need[]> {
  const found: Need[] = [];
  for (const need of wanted) {
    const { allowed, statements } = await mayDo(roleOf(name), need, onResources);
    if (!allowed) found.push(need);
    for (const statement of statements) used.add(`${name} ${statement}`);
  }
  return found;
}

describe.each(CALLERS)("%s", (name) => {
  test("may do what it does", async () => {
    expect(await denied(name, needs(name))).toEqual([]);
  });

  test("may do none of it over a connection that everybody can read", async () => {
    const plain = called(name)
      .filter(({ action }) => /^(sqs|s3):/.test(action))
      .filter(({ resource }) => !resource.startsWith("arn:aws:s3:::cdk-")) // the bucket of assets is CDK's own
      .map((need) => ({ ...need, context: { ...need.context, "aws:SecureTransport": "false" } }));
    for (const need of plain)
      expect([need, (await mayDo(roleOf(name), need, onResources)).allowed]).toEqual([need, false]);
  });

  test("signs in to the database as no other than itself", async () => {
    for (const other of Object.keys(DATABASE_USERS) as DatabaseUserOf[])
      expect([other, (await mayDo(roleOf(name), needOfDatabase(other))).allowed]).toEqual([other, other === name]);
  });

  test("its role is its service's alone", async () => {
    const need = { action: "sts:AssumeRole", resource: roleArn(roleOf(name).role) };
    for (const service of ["lambda", "ecs-tasks", "scheduler", "ec2"]) {
      const { allowed } = await mayServiceDo(`${service}.amazonaws.com`, need, roleOf(name).trust);
      expect([service, allowed]).toEqual([service, service === (name === WORKER ? "ecs-tasks" : "lambda")]);
    }
  });
});

test("a call that no statement names is denied", async () => {
  const resource = queueArn(at.queueUrl("ticks"));
  expect(await mayDo(roleOf("events"), { action: "sqs:SendMessage", resource })).toEqual({
    allowed: false,
    statements: [],
  });
});

test("ECS writes the worker's log with a role that can do nothing else", async () => {
  expect(await denied("ecs", needsOfEcs(at.deployed))).toEqual([]);
  expect(await denied("ecs", [needOfDatabase(WORKER)])).toHaveLength(1);
});

test("one-off schedules of this stack's group, and nobody else's, send to the queue of ticks, and to no other", async () => {
  const group = physicalOf("AWS::Scheduler::ScheduleGroup", /./);
  const from = (account: string, name: string): Need => ({
    action: "sts:AssumeRole",
    resource: roleArn(roleOf("timers").role),
    context: { "aws:SourceAccount": account, "aws:SourceArn": arn("scheduler", `schedule-group/${name}`) },
  });
  const may = async (need: Need): Promise<boolean> =>
    (await mayServiceDo("scheduler.amazonaws.com", need, roleOf("timers").trust)).allowed;
  expect(await may(from(ACCOUNT, group))).toBe(true);
  expect(await may(from(ACCOUNT, "another"))).toBe(false);
  expect(await may(from("111111111111", group))).toBe(false);
  const send = (queue: "ticks" | "tasks-short"): Need => ({
    action: "sqs:SendMessage",
    resource: queueArn(at.queueUrl(queue)),
  });
  expect(await denied("timers", [send("ticks")])).toEqual([]);
  expect(await denied("timers", [send("tasks-short")])).toEqual([send("tasks-short")]);
});

test("the minute's rule calls the guardian, the API's gateway its two functions, and no other rule or API does", async () => {
  const rule = arn("events", `rule/${physicalOf("AWS::Events::Rule", /Minute/)}`);
  const [, api = ""] = /execute-api\/([^/]+)\//.exec(at.deployed.apiUrl) ?? [];
  const may = async (service: string, name: FunctionName, source: string): Promise<boolean> => {
    const need = { action: "lambda:InvokeFunction", resource: functionArn(name), context: { "aws:SourceArn": source } };
    return (await mayServiceDo(`${service}.amazonaws.com`, need, onResources.get(functionArn(name)))).allowed;
  };
  expect(await may("events", "guardian", rule)).toBe(true);
  expect(await may("events", "guardian", arn("events", "rule/another"))).toBe(false);
  expect(await may("events", "api", rule)).toBe(false);
  for (const name of ["api", "events"] as const) {
    expect(await may("apigateway", name, arn("execute-api", `${api}/v1/GET/runs`))).toBe(true);
    expect(await may("apigateway", name, arn("execute-api", "another/v1/GET/runs"))).toBe(false);
  }
  expect(await may("apigateway", "task", arn("execute-api", `${api}/v1/GET/runs`))).toBe(false);
});

test("alarms of this account, and nobody else's, reach the topic", async () => {
  const topic = physicalOf("AWS::SNS::Topic", /./);
  const may = async (account: string): Promise<boolean> =>
    (
      await mayServiceDo(
        "cloudwatch.amazonaws.com",
        { action: "sns:Publish", resource: topic, context: { "aws:SourceAccount": account } },
        onResources.get(topic),
      )
    ).allowed;
  expect([await may(ACCOUNT), await may("111111111111")]).toEqual([true, false]);
});

test("those that the tests before have worked with did call AWS", () => {
  const silent = CALLERS.filter((name) => called(name).length === 0);
  // Neither asks AWS for anything by itself: Lambda brings them their messages and requests.
  expect(silent).toEqual(["dead-letter", "events"]);
});

/** What these tests have no occasion for, and what it is there for. */
const UNUSED: readonly (readonly [RegExp, string])[] = [
  [/^(tick|guardian|api|events): secretsmanager:GetSecretValue$/, "agents that list values under env"],
  [
    /^(tick|task|guardian|api): (ecs:\w+|iam:PassRole)$/,
    "whoever finds long work has a worker started; here one of them is first",
  ],
  [/^(task|long-task): (scheduler:CreateSchedule|iam:PassRole)$/, "a provider that is away for longer than SQS delays"],
  [/^task: s3:GetObject$/, "a tool that reads a file of more than 4 MiB"],
  ...(process.env.TOREN_TEST_AWS_FULL === "1"
    ? []
    : [[/^long-task: /, "steps that are too long for Lambda, with TOREN_TEST_AWS_FULL=1"] as const]),
];

test("statements that nothing used are reported, and are there for something", () => {
  const lines = [...roles].flatMap(([name, { policies }]) =>
    policies.flatMap(({ name: policy, policy: document }) =>
      (document as { Statement: { Effect: string; Action: unknown }[] }).Statement.flatMap(({ Effect, Action }, i) =>
        Effect !== "Allow" || used.has(`${name} ${policy} ${i + 1}`) ? [] : [`${name}: ${[Action].flat().join(", ")}`],
      ),
    ),
  );
  const why = (line: string): string | undefined => UNUSED.find(([pattern]) => pattern.test(line))?.[1];
  console.info(
    `Statements of roles that these tests never used:\n${lines.map((line) => `${line} (${why(line) ?? "?"})`).join("\n")}`,
  );
  expect(lines.filter((line) => why(line) === undefined)).toEqual([]);
});
