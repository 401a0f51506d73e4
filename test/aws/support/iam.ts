// What calls of AWS need, by AWS' own tables of actions, and whether a role of the deployed stack may do it.
import { runSimulation, type SimulationIdentityPolicy } from "@cloud-copilot/iam-simulate";
import { ACCOUNT, type Deployed, REGION } from "../../../local/aws/deploy.ts";
import { awsRequest } from "../../../local/aws/request.ts";
import type { RecordedCall } from "./calls.ts";

export interface Need {
  readonly action: string;
  readonly resource: string;
  readonly context?: Readonly<Record<string, string>>;
}

const arn = (service: string, rest: string, region = REGION): string =>
  `arn:aws:${service}:${region}:${ACCOUNT}:${rest}`;
const queueArn = (url: unknown): string => arn("sqs", String(url).split("/").at(-1) ?? "");
/** S3's names are everybody's. */
const objectArn = ({ Bucket, Key }: Parameters): string => `arn:aws:s3:::${String(Bucket)}/${String(Key)}`;
const clusterArn = (name: unknown): string => arn("ecs", `cluster/${String(name)}`);

type Parameters = RecordedCall["parameters"];
type Needs = (parameters: Parameters, deployed: Deployed) => readonly Need[];

/** By service and operation, as the service authorization reference of each has it. */
const NEEDS: Readonly<Record<string, Needs>> = {
  "sqs.SendMessage": (p) => [{ action: "sqs:SendMessage", resource: queueArn(p.QueueUrl) }],
  "sqs.SendMessageBatch": (p) => [{ action: "sqs:SendMessage", resource: queueArn(p.QueueUrl) }],
  "sqs.ReceiveMessage": (p) => [{ action: "sqs:ReceiveMessage", resource: queueArn(p.QueueUrl) }],
  "sqs.DeleteMessage": (p) => [{ action: "sqs:DeleteMessage", resource: queueArn(p.QueueUrl) }],
  "sqs.DeleteMessageBatch": (p) => [{ action: "sqs:DeleteMessage", resource: queueArn(p.QueueUrl) }],
  "sqs.ChangeMessageVisibility": (p) => [{ action: "sqs:ChangeMessageVisibility", resource: queueArn(p.QueueUrl) }],
  "sqs.GetQueueAttributes": (p) => [{ action: "sqs:GetQueueAttributes", resource: queueArn(p.QueueUrl) }],
  "secretsmanager.GetSecretValue": (p) => [{ action: "secretsmanager:GetSecretValue", resource: String(p.SecretId) }],
  "secretsmanager.PutSecretValue": (p) => [{ action: "secretsmanager:PutSecretValue", resource: String(p.SecretId) }],
  "scheduler.CreateSchedule": (p) => [
    {
      action: "scheduler:CreateSchedule",
      resource: arn("scheduler", `schedule/${String(p.GroupName)}/${String(p.Name)}`),
    },
    passRole((p.Target as { RoleArn: string }).RoleArn, "scheduler.amazonaws.com"),
  ],
  "s3.GetObject": (p) => [{ action: "s3:GetObject", resource: objectArn(p) }],
  "s3.HeadObject": (p) => [{ action: "s3:GetObject", resource: objectArn(p) }],
  "s3.PutObject": (p) => [{ action: "s3:PutObject", resource: objectArn(p) }],
  "s3.DeleteObject": (p) => [{ action: "s3:DeleteObject", resource: objectArn(p) }],
  "ecs.ListTasks": (p) => [
    { action: "ecs:ListTasks", resource: "*", context: { "ecs:cluster": clusterArn(p.cluster) } },
  ],
  "ecs.DescribeTasks": (p) =>
    ((p.tasks ?? []) as string[]).map((resource) => ({
      action: "ecs:DescribeTasks",
      resource,
      context: { "ecs:cluster": clusterArn(p.cluster) },
    })),
  "ecs.RunTask": (p, deployed) => [
    {
      action: "ecs:RunTask",
      resource: arn("ecs", `task-definition/${String(p.taskDefinition)}:1`),
      context: { "ecs:cluster": clusterArn(p.cluster) },
    },
    ...["TaskRole", "ExecutionRole"].map((one) => passRole(roleOfWorkers(deployed, one), "ecs-tasks.amazonaws.com")),
  ],
};

/** A PassRole is asked for by whoever hands a role on. */
function passRole(resource: string, service: string): Need {
  return { action: "iam:PassRole", resource, context: { "iam:PassedToService": service } };
}

function roleOfWorkers(deployed: Deployed, property: string): string {
  const definition = Object.values(deployed.template.Resources).find(({ Type }) => Type === "AWS::ECS::TaskDefinition");
  const { "Fn::GetAtt": [logicalId] = [] } = (definition?.Properties?.[`${property}Arn`] ?? {}) as {
    "Fn::GetAtt"?: string[];
  };
  return `arn:aws:iam::${ACCOUNT}:role/${physicalId(deployed, logicalId ?? "")}`;
}

/** @throws for an operation that isn't in the table: whoever adds a call to the product says here what it needs. */
export function needsOf({ service, operation, parameters }: RecordedCall, deployed: Deployed): readonly Need[] {
  const needs = NEEDS[`${service}.${operation}`];
  if (needs === undefined)
    throw new Error(`what ${service}.${operation} needs isn't written down in test/aws/support/iam.ts`);
  return needs(parameters, deployed);
}

/** What Lambda itself does with a function's role: it reads the queues that feed it, and writes its log. */
export function needsOfLambda(deployed: Deployed, functionId: string): Need[] {
  const resources = Object.entries(deployed.template.Resources);
  const queues = resources.flatMap(([, { Type, Properties = {} }]) => {
    if (Type !== "AWS::Lambda::EventSourceMapping") return [];
    const { Ref } = Properties.FunctionName as { Ref: string };
    const {
      "Fn::GetAtt": [queue],
    } = Properties.EventSourceArn as { "Fn::GetAtt": [string] };
    return Ref === functionId ? [queueArn(physicalId(deployed, queue))] : [];
  });
  const { LogGroup } = property<{ LogGroup: { Ref: string } }>(deployed, functionId, "LoggingConfig");
  const stream = arn("logs", `log-group:${physicalId(deployed, LogGroup.Ref)}:log-stream:2026/11/30/one`);
  return [
    ...queues.flatMap((resource) =>
      ["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"].map((action) => ({ action, resource })),
    ),
    ...["logs:CreateLogStream", "logs:PutLogEvents"].map((action) => ({ action, resource: stream })),
    ...["ec2:CreateNetworkInterface", "ec2:DescribeNetworkInterfaces", "ec2:DeleteNetworkInterface"].map((action) => ({
      action,
      resource: "*",
    })),
  ];
}

function property<T>(deployed: Deployed, logicalId: string, name: string): T {
  const value = deployed.template.Resources[logicalId]?.Properties?.[name];
  if (value === undefined) throw new Error(`${logicalId} has no ${name}`);
  return value as T;
}

const physicalId = (deployed: Deployed, logicalId: string): string =>
  deployed.resources.find((one) => one.logicalId === logicalId)?.physicalId ?? "";

export interface RolePolicy {
  readonly role: string;
  readonly policies: readonly SimulationIdentityPolicy[];
}

/** As the emulator holds it: the stack's own statements, with names in the place of references. */
export async function policyOf(endpoint: string, deployed: Deployed, functionId: string): Promise<RolePolicy> {
  const {
    "Fn::GetAtt": [roleId],
  } = property<{ "Fn::GetAtt": [string] }>(deployed, functionId, "Role");
  const role = physicalId(deployed, roleId);
  const ask = async (Action: string, more: object = {}): Promise<string> =>
    await awsRequest(
      endpoint,
      "iam",
      "POST",
      "/",
      new URLSearchParams({ Action, RoleName: role, Version: "2010-05-08", ...more }),
    );
  const names = [...(await ask("ListRolePolicies")).matchAll(/<member>(.*?)<\/member>/gs)].map(([, name = ""]) => name);
  const policies: SimulationIdentityPolicy[] = [];
  for (const name of names) {
    const [, text = ""] =
      /<PolicyDocument>(.*?)<\/PolicyDocument>/s.exec(await ask("GetRolePolicy", { PolicyName: name })) ?? [];
    policies.push({ name, policy: JSON.parse(decodeURIComponent(text.replaceAll("+", "%20"))) });
  }
  return { role, policies };
}

export interface Verdict {
  readonly allowed: boolean;
  /** Of the statements that allow it, by policy and index. */
  readonly statements: readonly string[];
}

const EVERYTHING = {
  orgIdentifier: "root",
  policies: [
    { name: "all", policy: { Version: "2012-10-17", Statement: [{ Effect: "Allow", Action: "*", Resource: "*" }] } },
  ],
};

/** @throws when the question itself is wrong: an action or resource that AWS doesn't know. */
export async function mayDo(
  { role, policies }: RolePolicy,
  { action, resource, context = {} }: Need,
): Promise<Verdict> {
  const answer = await runSimulation(
    {
      request: {
        principal: `arn:aws:sts::${ACCOUNT}:assumed-role/${role}/function`,
        action,
        resource: { resource, accountId: ACCOUNT },
        contextVariables: { "aws:SecureTransport": "true", ...context },
      },
      identityPolicies: [...policies],
      serviceControlPolicies: [EVERYTHING],
      resourceControlPolicies: [],
    },
    {},
  );
  if (answer.resultType === "error") throw new Error(`${action} on ${resource}: ${JSON.stringify(answer.errors)}`);
  const results = answer.resultType === "single" ? [answer.result] : answer.results;
  const statements = results.flatMap(({ analysis }) =>
    (analysis.identityAnalysis?.allowStatements ?? []).map(
      ({ policyId, statement }) => `${policyId} ${statement.index()}`,
    ),
  );
  return { allowed: answer.overallResult === "Allowed", statements };
}
