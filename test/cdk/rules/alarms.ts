import { readFileSync } from "node:fs";
import { describe, expect, test } from "@jest/globals";
import type { Template } from "aws-cdk-lib/assertions";
import { INSTALLATIONS, installation, ofType, only, property, type Resource, templateOf } from "../support.ts";

interface Seen {
  readonly Namespace: string;
  readonly MetricName: string;
  readonly Dimensions?: readonly { readonly Name: string }[];
}
/** Metrics that AWS publishes, with the one dimension that we ask for. */
const PUBLISHED: Readonly<Record<string, readonly string[]>> = {
  "AWS/SQS QueueName": [
    "ApproximateAgeOfOldestMessage",
    "ApproximateNumberOfMessagesVisible",
    "ApproximateNumberOfMessagesNotVisible",
  ],
  "AWS/Lambda FunctionName": ["Invocations", "Errors"],
  "AWS/RDS DBInstanceIdentifier": ["DatabaseConnections", "CPUSurplusCreditsCharged", "FreeStorageSpace"],
  "AWS/EC2 InstanceId": ["StatusCheckFailed_System", "StatusCheckFailed_Instance"],
};

const metricsOf = ({ Properties }: Resource): Seen[] => {
  const { Metrics } = Properties as { Metrics?: { MetricStat?: { Metric: Seen } }[] };
  if (Metrics === undefined) return [Properties as unknown as Seen];
  return Metrics.flatMap(({ MetricStat }) => (MetricStat === undefined ? [] : [MetricStat.Metric]));
};
const alarms = (template: Template): [string, Resource][] => ofType(template, "AWS::CloudWatch::Alarm");

describe.each(Object.keys(INSTALLATIONS))("alarms of an installation: %s", (name) => {
  const template = installation(name);

  test("each looks at a metric that somebody publishes: AWS, or a filter over our own log", () => {
    const filtered = ofType(template, "AWS::Logs::MetricFilter").flatMap(([, filter]) =>
      property<{ MetricNamespace: string; MetricName: string }[]>(filter, "MetricTransformations").map(
        ({ MetricNamespace, MetricName }) => `${MetricNamespace} ${MetricName}`,
      ),
    );
    expect(filtered).toEqual(
      ["DeadLetters", "OldestReadyMs"].map((metric) => expect.stringMatching(`^Toren/Toren-[0-9A-Z]+ ${metric}$`)),
    );
    const nobodys = alarms(template)
      .flatMap(([, alarm]) => metricsOf(alarm))
      .filter(({ Namespace, MetricName, Dimensions = [] }) => {
        if (Dimensions.length === 0) return !filtered.includes(`${Namespace} ${MetricName}`);
        return PUBLISHED[`${Namespace} ${Dimensions.map((d) => d.Name).join()}`]?.includes(MetricName) !== true;
      });
    expect(nobodys).toEqual([]);
  });

  test("each says what it means and reaches the topic, which lets CloudWatch in", () => {
    for (const [id, alarm] of alarms(template)) {
      if (/Nat|Load/.test(id)) continue; // these repair and scale
      expect(property<string>(alarm, "AlarmDescription").length).toBeGreaterThan(40);
      expect(alarm.Properties.AlarmActions).toEqual([{ Ref: expect.stringMatching(/^TorenAlarmsTopic/) }]);
    }
    const policy = only(template, "AWS::SNS::TopicPolicy").Properties.PolicyDocument as { Statement: unknown[] };
    expect(JSON.stringify(policy.Statement)).toContain('"cloudwatch.amazonaws.com"');
    expect(policy.Statement).toContainEqual(
      expect.objectContaining({
        Effect: "Allow",
        Action: "sns:Publish",
        // With a budget, both services are in one statement.
        Principal: { Service: expect.anything() },
        Condition: { StringEquals: { "aws:SourceAccount": { Ref: "AWS::AccountId" } } },
      }),
    );
  });

  test("those of work are there, and of the database where it is ours", () => {
    const ids = alarms(template)
      .map(([id]) => /^TorenAlarms([A-Za-z]+?)[0-9A-F]{8}$/.exec(id)?.[1])
      .filter((id) => id !== undefined);
    const work = ["DeadLetters", "DeadLettersUnread", "GuardianSilent", "ReadyTooLong"];
    expect(ids.sort()).toEqual(
      [...work, ...(/database/.test(name) ? [] : ["Connections", "CpuCredits", "Storage"])].sort(),
    );
  });
});

test("lines that metrics are made of are those that the functions write", () => {
  const patterns = ofType(installation("as it comes"), "AWS::Logs::MetricFilter").map(
    ([, filter]) => filter.Properties.FilterPattern,
  );
  expect(patterns).toEqual(['{ $.message = "dead letter" }', "{ $.oldestReadyMs >= 0 }"]);
  expect(readFileSync("functions/dead-letter.ts", "utf8")).toContain('log.error("dead letter"');
  expect(readFileSync("functions/pulse.ts", "utf8")).toMatch(/log\.info\("guardian pass", \{[^}]*oldestReadyMs/);
});

test("a silent guardian is an alarm even if there are no numbers at all", () => {
  const [, silent] = alarms(installation("as it comes")).find(([id]) => id.includes("GuardianSilent")) ?? [];
  expect(silent?.Properties).toMatchObject({ TreatMissingData: "breaching", EvaluationPeriods: 5, Threshold: 1 });
});

test("a class without CPU credits has no alarm about them", () => {
  expect(alarms(templateOf({ databaseClass: "r7g.large" })).filter(([id]) => id.includes("CpuCredits"))).toEqual([]);
});

test("a budget and an address are told where they are given", () => {
  const template = installation("production");
  expect(only(template, "AWS::SNS::Subscription").Properties).toMatchObject({
    Protocol: "email",
    Endpoint: "ops@example.com",
  });
  expect(only(template, "AWS::Budgets::Budget").Properties).toMatchObject({
    Budget: { BudgetType: "COST", TimeUnit: "MONTHLY", BudgetLimit: { Amount: 100, Unit: "USD" } },
  });
  expect(ofType(installation("as it comes"), "AWS::Budgets::Budget")).toEqual([]);
});
