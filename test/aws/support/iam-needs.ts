// What calls of AWS need, by AWS' own tables of actions; and what AWS' services do with a role of the stack by themselves.
import { DATABASE_USERS, type DatabaseUserOf } from "../../../cdk/connections.ts";
import { ACCOUNT, type Deployed, REGION } from "../../../local/aws/deploy.ts";
import type { RecordedCall } from "./calls.ts";

export interface Need {
  readonly action: string;
  readonly resource: string;
  readonly context?: Readonly<Record<string, string>>;
}

export const arn = (service: string, rest: string, region = REGION): string =>
  `arn:aws:${service}:${region}:${ACCOUNT}:${rest}`;
export const queueArn = (url: unknown): string => arn("sqs", String(url).split("/").at(-1) ?? "");
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
    ...(["TaskRole", "ExecutionRole"] as const).map((one) =>
      passRole(roleArn(roleNameOfWorkers(deployed, one)), "ecs-tasks.amazonaws.com"),
    ),
  ],
};

/** A PassRole is asked for by whoever hands a role on. */
function passRole(resource: string, service: string): Need {
  return { action: "iam:PassRole", resource, context: { "iam:PassedToService": service } };
}

/** The workers' `TaskRole`, or the `ExecutionRole` with which ECS starts them. */
export function roleNameOfWorkers(deployed: Deployed, which: "TaskRole" | "ExecutionRole"): string {
  const definition = Object.values(deployed.template.Resources).find(({ Type }) => Type === "AWS::ECS::TaskDefinition");
  const { "Fn::GetAtt": [logicalId] = [] } = (definition?.Properties?.[`${which}Arn`] ?? {}) as {
    "Fn::GetAtt"?: string[];
  };
  return physicalId(deployed, logicalId ?? "");
}

export const roleArn = (name: string): string => `arn:aws:iam::${ACCOUNT}:role/${name}`;

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

export function property<T>(deployed: Deployed, logicalId: string, name: string): T {
  const value = deployed.template.Resources[logicalId]?.Properties?.[name];
  if (value === undefined) throw new Error(`${logicalId} has no ${name}`);
  return value as T;
}

export const physicalId = (deployed: Deployed, logicalId: string): string =>
  deployed.resources.find((one) => one.logicalId === logicalId)?.physicalId ?? "";

/** Whoever signs in to RDS with a token needs this. An emulator makes no instance, so its id is what the stack's statements have in its place. */
export const needOfDatabase = (of: DatabaseUserOf): Need => ({
  action: "rds-db:connect",
  resource: arn("rds-db", `dbuser:unknown/${DATABASE_USERS[of]}`),
});

/** What ECS does with the execution role: it writes the worker's log. The image is public. */
export function needsOfEcs(deployed: Deployed): Need[] {
  const group = deployed.resources.find(
    ({ type, logicalId }) => type === "AWS::Logs::LogGroup" && /LongWorkLogs/.test(logicalId),
  );
  const stream = arn("logs", `log-group:${group?.physicalId}:log-stream:worker/worker/one`);
  return ["logs:CreateLogStream", "logs:PutLogEvents"].map((action) => ({ action, resource: stream }));
}
