import { describe, expect, test } from "@jest/globals";
import type { Template } from "aws-cdk-lib/assertions";
import { VISIBILITY_MARGIN_MS } from "../../../shared/core/limits.ts";
import { INSTALLATIONS, installation, ofType, only, property, type Resource, resourcesOf } from "../support.ts";

const functions = (template: Template): [string, Resource][] => ofType(template, "AWS::Lambda::Function");
const mappings = (template: Template): Resource[] =>
  ofType(template, "AWS::Lambda::EventSourceMapping").map(([, mapping]) => mapping);
const idIn = (reference: unknown): string => {
  const { Ref, "Fn::GetAtt": attribute } = reference as { Ref?: string; "Fn::GetAtt"?: [string, string] };
  return Ref ?? attribute?.[0] ?? "";
};
const NAMES = ["api", "deadletter", "events", "guardian", "migrate", "task", "tick"];
const nameOf = (id: string): string => NAMES.find((name) => id.includes(`${name}Function`)) ?? id;

/** Who may send to a queue of ours, by the statements of its role. */
function sends(template: Template, fn: Resource): boolean {
  const role = idIn(fn.Properties.Role);
  return ofType(template, "AWS::IAM::Policy").some(
    ([, policy]) =>
      JSON.stringify(policy.Properties.Roles).includes(role) &&
      JSON.stringify(policy.Properties.PolicyDocument).includes("sqs:SendMessage"),
  );
}

describe.each(Object.keys(INSTALLATIONS))("functions of an installation: %s", (name) => {
  const template = installation(name);

  test("all run Node 24 on arm64, from a bundle, with a log group that forgets", () => {
    expect(
      functions(template)
        .map(([id]) => nameOf(id))
        .sort(),
    ).toEqual(NAMES);
    for (const [, fn] of functions(template)) {
      expect(fn.Properties).toMatchObject({ Runtime: "nodejs24.x", Architectures: ["arm64"] });
      const { LogGroup } = property<{ LogGroup: unknown }>(fn, "LoggingConfig");
      expect(only(template, "AWS::Logs::LogGroup", idIn(LogGroup)).Properties.RetentionInDays).toEqual(
        expect.any(Number),
      );
    }
  });

  test("every log group forgets, after 30 days or 90", () => {
    for (const [, group] of ofType(template, "AWS::Logs::LogGroup"))
      expect([30, 90]).toContain(group.Properties.RetentionInDays);
  });

  test("whoever consumes and sends to our queues may loop; nobody else", () => {
    const consumers = new Set(mappings(template).map((mapping) => idIn(mapping.Properties.FunctionName)));
    for (const [id, fn] of functions(template)) {
      const loops = consumers.has(id) && sends(template, fn);
      expect([id, fn.Properties.RecursiveLoop]).toEqual([id, loops ? "Allow" : undefined]);
    }
    const allowed = functions(template).filter(([, fn]) => fn.Properties.RecursiveLoop === "Allow");
    expect(allowed.map(([id]) => nameOf(id)).sort()).toEqual(["guardian", "task", "tick"]);
  });

  test("a message stays hidden for its reader's time-out and a minute", () => {
    expect(mappings(template).length).toBeGreaterThan(3);
    for (const mapping of mappings(template)) {
      const queue = resourcesOf(template)[idIn(mapping.Properties.EventSourceArn)] as Resource;
      const reader = resourcesOf(template)[idIn(mapping.Properties.FunctionName)] as Resource;
      const hidden = property<number>(queue, "VisibilityTimeout") * 1_000;
      const runs = property<number>(reader, "Timeout") * 1_000;
      // Dead letters are hidden for longer than their reader needs.
      expect(hidden).toBeGreaterThanOrEqual(runs + VISIBILITY_MARGIN_MS);
      if (!idIn(mapping.Properties.EventSourceArn).includes("dead")) expect(hidden).toBe(runs + VISIBILITY_MARGIN_MS);
    }
  });

  test("queues feed a bounded number of environments, and what failed is named in the answer", () => {
    for (const mapping of mappings(template)) {
      expect(mapping.Properties).toMatchObject({
        FunctionResponseTypes: ["ReportBatchItemFailures"],
        ScalingConfig: { MaximumConcurrency: expect.any(Number) },
      });
      const { MaximumConcurrency } = property<{ MaximumConcurrency: number }>(mapping, "ScalingConfig");
      expect(MaximumConcurrency).toBeGreaterThanOrEqual(2);
      expect(MaximumConcurrency).toBeLessThanOrEqual(1_000);
    }
  });

  test("no concurrency is reserved: a new account has ten, and AWS wants ten left over", () => {
    for (const [, fn] of functions(template)) expect(fn.Properties.ReservedConcurrentExecutions).toBeUndefined();
  });

  test("the task function takes ten at once with 1,024 MB, the solo queue feeds one", () => {
    const task = functions(template).find(([id]) => nameOf(id) === "task") as [string, Resource];
    expect(task[1].Properties).toMatchObject({ MemorySize: 1_024, Timeout: 900 });
    const sizes = mappings(template)
      .filter((mapping) => idIn(mapping.Properties.FunctionName) === task[0])
      .map((mapping) => [
        /tasks(short|solo)/.exec(idIn(mapping.Properties.EventSourceArn))?.[1],
        mapping.Properties.BatchSize,
      ]);
    const short = /Fargate/.test(name) ? [] : [["short", 10]];
    expect(sizes.sort()).toEqual([...short, ["solo", 1]]);
  });

  test("functions wait for the schemas: the migration's answer is in the environment of each", () => {
    for (const [id, fn] of functions(template)) {
      if (nameOf(id) === "migrate") continue;
      const { Variables } = property<{ Variables: Record<string, unknown> }>(fn, "Environment");
      expect(Variables.TOREN_GENERATION).toEqual({
        "Fn::GetAtt": [expect.stringMatching(/^TorenMigration/), "Generation"],
      });
    }
    const migration = only(template, "Custom::TorenMigration");
    expect(property<unknown>(migration, "ServiceToken")).toEqual({
      "Fn::GetAtt": [expect.stringMatching(/^Torenmigrate/), "Arn"],
    });
    // CloudFormation waits a little longer than the function may take, not an hour.
    expect(property<string>(migration, "ServiceTimeout")).toBe("960");
  });
});

describe("the guardian", () => {
  const template = installation("as it comes");

  test("a late pass is not repeated, by the schedule or by Lambda", () => {
    expect(only(template, "AWS::Lambda::EventInvokeConfig").Properties).toMatchObject({
      MaximumRetryAttempts: 0,
      MaximumEventAgeInSeconds: 60,
      FunctionName: { Ref: expect.stringMatching(/guardian/) },
    });
    expect(only(template, "AWS::Events::Rule").Properties).toMatchObject({
      ScheduleExpression: "rate(1 minute)",
      Targets: [{ RetryPolicy: { MaximumRetryAttempts: 0, MaximumEventAgeInSeconds: 60 } }],
    });
  });

  test("the pulse feeds it one message at a time, and forgets soon", () => {
    const pulse = only(template, "AWS::SQS::Queue", "pulse");
    expect(pulse.Properties.MessageRetentionPeriod).toBe(300);
    const [mapping] = mappings(template).filter(({ Properties }) => idIn(Properties.EventSourceArn).includes("pulse"));
    expect(mapping?.Properties.BatchSize).toBe(1);
  });
});
