import { readFileSync } from "node:fs";
import { describe, expect, test } from "@jest/globals";
import type { Template } from "aws-cdk-lib/assertions";
import { DRAIN_MS } from "../../../shared/core/limits.ts";
import { INSTALLATIONS, installation, ofType, only, property } from "../support.ts";

interface Container {
  readonly Image: string;
  readonly EntryPoint: readonly string[];
  readonly Command: readonly string[];
  readonly StopTimeout: number;
  readonly ReadonlyRootFilesystem: boolean;
  readonly Environment: readonly { readonly Name: string; readonly Value: unknown }[];
}
const container = (template: Template): Container =>
  property<[Container]>(only(template, "AWS::ECS::TaskDefinition"), "ContainerDefinitions")[0];
const variable = (template: Template, name: string): unknown =>
  container(template).Environment.find(({ Name }) => Name === name)?.Value;
const statements = (template: Template, part: string): string =>
  ofType(template, "AWS::IAM::Policy")
    .filter(([id]) => id.includes(part))
    .map(([, policy]) => JSON.stringify(policy.Properties.PolicyDocument))
    .join();

describe.each(Object.keys(INSTALLATIONS).filter((name) => name !== "a database by its URL"))(
  "workers for long tasks of an installation: %s",
  (name) => {
    const template = installation(name);

    test("run AWS' own image with the bundle from S3: nothing is built with Docker", () => {
      const { Image, EntryPoint, Command } = container(template);
      expect([Image, EntryPoint[0]]).toEqual(["public.ecr.aws/lambda/nodejs:24", "/var/lang/bin/node"]);
      const boot = /base64,([^"]+)"/.exec(Command[0] ?? "")?.[1] ?? "";
      expect(Buffer.from(boot, "base64").toString()).toBe(readFileSync("cdk/worker-boot.mjs", "utf8"));
      expect(JSON.stringify(variable(template, "TOREN_BUNDLE_BUCKET"))).toContain("cdk-hnb659fds-assets");
      expect(variable(template, "TOREN_BUNDLE_KEY")).toMatch(/^[0-9a-f]{64}\.zip$/);
    });

    test("have time to drain, on arm64, with a root file system that nobody writes", () => {
      expect(container(template).StopTimeout * 1_000).toBeGreaterThan(DRAIN_MS);
      expect(container(template).ReadonlyRootFilesystem).toBe(true);
      expect(only(template, "AWS::ECS::TaskDefinition").Properties).toMatchObject({
        RuntimePlatform: { CpuArchitecture: "ARM64" },
        NetworkMode: "awsvpc",
      });
    });

    test("read the queues that they take from, and their bundle, nothing else of S3 but files", () => {
      const rights = statements(template, "LongWorkRole");
      expect(rights).toContain("sqs:ReceiveMessage");
      expect(rights).toContain("sqs:ChangeMessageVisibility");
      expect(rights).toContain("tasks-long".replace("-", ""));
      expect(rights.includes("TorenQueuestasksshort")).toBe(true); // to send, with Fargate workers to read too
      expect(rights).not.toContain("ecs:");
    });
  },
);

describe("workers on demand", () => {
  const template = installation("as it comes");

  test("there is no service: whoever finds long work may run the task, in this cluster, with these two roles", () => {
    expect(ofType(template, "AWS::ECS::Service")).toEqual([]);
    for (const name of ["tick", "task", "guardian", "Apiapi"]) {
      const rights = statements(template, `${name}Role`);
      for (const action of ["ecs:RunTask", "ecs:ListTasks", "ecs:DescribeTasks", "iam:PassRole"])
        expect([name, action, rights.includes(`"${action}"`)]).toEqual([name, action, true]);
      expect(rights).toContain('"iam:PassedToService":"ecs-tasks.amazonaws.com"');
      expect(rights).toMatch(/"ecs:cluster":\{"Fn::GetAtt":\["TorenLongWorkCluster/);
    }
    for (const name of ["events", "deadletter", "migrate"])
      expect(statements(template, `${name}Role`)).not.toContain("ecs:");
  });

  test("workers end when idle, and are as many as the database has room for", () => {
    expect([variable(template, "TOREN_WORK_QUEUES"), variable(template, "TOREN_IDLE_EXIT")]).toEqual([
      "tasks-long",
      "true",
    ]);
    const { Variables } = property<{ Variables: Record<string, unknown> }>(
      only(template, "AWS::Lambda::Function", "guardian"),
      "Environment",
    );
    expect(Number(Variables.TOREN_LONG_TASKS_MAX)).toBeGreaterThanOrEqual(1);
    // The family, so that a function of the version before starts workers of the newest.
    const { Family } = only(template, "AWS::ECS::TaskDefinition").Properties;
    expect(Variables.TOREN_LONG_TASK_DEFINITION).toBe(Family);
    expect(statements(template, "guardianRole")).toContain(`:task-definition/${String(Family)}:*`);
  });
});

describe("workers on Fargate", () => {
  const template = installation("workers on Fargate");

  test("a service keeps at least one, without a public address, and rolls back what doesn't start", () => {
    expect(only(template, "AWS::ECS::Service").Properties).toMatchObject({
      DesiredCount: 1,
      LaunchType: "FARGATE",
      NetworkConfiguration: { AwsvpcConfiguration: { AssignPublicIp: "DISABLED" } },
      DeploymentConfiguration: {
        MinimumHealthyPercent: 100,
        DeploymentCircuitBreaker: { Enable: true, Rollback: true },
      },
    });
    expect([variable(template, "TOREN_WORK_QUEUES"), variable(template, "TOREN_IDLE_EXIT")]).toEqual([
      "tasks-short,tasks-long",
      "false",
    ]);
  });

  test("it grows by what waits and by what is worked on: a busy worker is not idle", () => {
    const metrics = JSON.stringify(ofType(template, "AWS::CloudWatch::Alarm"));
    expect(metrics).toContain("waiting + working");
    expect(metrics).toContain("ApproximateNumberOfMessagesNotVisible");
  });

  test("nobody starts workers beside it, and Lambda keeps the solo queue", () => {
    for (const name of ["tick", "task", "guardian", "Apiapi"])
      expect(statements(template, `${name}Role`)).not.toContain("ecs:");
    expect(JSON.stringify(ofType(template, "AWS::Lambda::EventSourceMapping"))).not.toContain("TorenQueuestasksshort");
    expect(JSON.stringify(ofType(template, "AWS::Lambda::EventSourceMapping"))).toContain("TorenQueuestaskssolo");
  });
});

test("outside of any VPC there are no workers for long tasks, and nobody is told of one", () => {
  const template = installation("a database by its URL");
  expect(ofType(template, "AWS::ECS::TaskDefinition")).toEqual([]);
  expect(JSON.stringify(template.toJSON())).not.toContain("TOREN_ECS_CLUSTER");
  const told = (of: Template): unknown[] =>
    ofType(of, "AWS::Lambda::Function").map(
      ([, fn]) => property<{ Variables: Record<string, unknown> }>(fn, "Environment").Variables.TOREN_LONG_LANE,
    );
  // All but migrate.
  expect(told(template).filter((lane) => lane === "none")).toHaveLength(6);
  for (const name of ["as it comes", "workers on Fargate"])
    expect(told(installation(name)).filter((lane) => lane !== undefined)).toEqual([]);
});
