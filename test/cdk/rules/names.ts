// What the stack tells people: its outputs; and what it tells functions, which read it by functions/aws-environment.ts.
import { describe, expect, test } from "@jest/globals";
import { Template } from "aws-cdk-lib/assertions";
import { databasePlace, masterPlace, optional, required } from "../../../functions/aws-environment.ts";
import {
  appWith,
  INSTALLATIONS,
  installation,
  ofType,
  only,
  property,
  resourcesOf,
  twoInOneStack,
} from "../support.ts";

describe.each(Object.keys(INSTALLATIONS))("what an installation says: %s", (name) => {
  const template = installation(name);

  test("its outputs say where the API is, where the keys are, and where alarms go", () => {
    const outputs = (template.toJSON() as { Outputs: Record<string, { Description: string }> }).Outputs;
    expect(
      Object.keys(outputs)
        .filter((id) => id.startsWith("Toren"))
        .sort(),
    ).toEqual(
      [
        "TorenAlarmTopic",
        "TorenApiKeySecret",
        ...(/database/.test(name) ? [] : ["TorenDatabaseHost"]),
        "TorenKeysSecret",
        "TorenUrl",
      ].sort(),
    );
    for (const { Description } of Object.values(outputs)) expect(Description).toEqual(expect.any(String));
  });

  test("each function finds in its environment what it asks for", () => {
    for (const [id, fn] of ofType(template, "AWS::Lambda::Function")) {
      const { Variables } = property<{ Variables: Record<string, unknown> }>(fn, "Environment");
      const env = asDeployed(Variables);
      expect(databasePlace(env)).toBeDefined();
      if (id.includes("migrate")) {
        expect(required(env, "apiKey").arn).toMatch(/^arn:/);
        expect(masterPlace(env) === null).toBe(/database/.test(name));
        continue;
      }
      for (const group of ["queues", "pulse", "files", "secrets", "generation", "timers"] as const)
        expect(required(env, group)).toBeDefined();
      expect(optional(env, "encryption")).toBe(name === "workers on Fargate" ? true : null);
      const alone = name === "a database by its URL" || /Fargate/.test(name);
      expect(optional(env, "longTasks") === null).toBe(alone);
    }
  });

  test("what is kept when it goes is what the page says, and never has a name of its own: the next one would find it taken", () => {
    const kept = Object.values(resourcesOf(template)).filter(({ DeletionPolicy }) =>
      DeletionPolicy?.startsWith("Retain"),
    );
    const logs = /production/.test(name) ? ["AWS::ApiGateway::Account", "AWS::IAM::Role"] : [];
    expect(kept.map(({ Type }) => Type).sort()).toEqual([...logs, "AWS::S3::Bucket"].sort());
    for (const { Properties } of kept)
      expect(
        Object.keys(Properties).filter((property) => /^(?:Name|(?:Bucket|Role|Group)Name)$/.test(property)),
      ).toEqual([]);
  });

  test("no secret is in a template: keys are made by CloudFormation, or put in by people", () => {
    for (const [, secret] of ofType(template, "AWS::SecretsManager::Secret")) {
      expect(secret.Properties.SecretString).toBeUndefined();
      expect(secret.Properties.GenerateSecretString).toBeDefined();
    }
    expect(property<object>(only(template, "AWS::SecretsManager::Secret", "ApiKey"), "GenerateSecretString")).toEqual({
      ExcludePunctuation: true,
      PasswordLength: 32,
    });
  });
});

test("two installations in one stack share no name, and no metric", () => {
  const template = Template.fromStack(twoInOneStack(appWith()));
  const namesOf = (type: string, ...path: string[]): string[] =>
    ofType(template, type).map(([, { Properties }]) =>
      JSON.stringify(path.reduce<unknown>((value, key) => (value as Record<string, unknown>)[key], Properties)),
    );
  for (const [count, names] of [
    [12, namesOf("AWS::SQS::Queue", "QueueName")],
    [2, namesOf("AWS::ECS::TaskDefinition", "Family")],
    [2, namesOf("AWS::ApiGateway::RestApi", "Name")],
    [2, namesOf("AWS::Scheduler::ScheduleGroup", "Name")],
  ] as const)
    expect([names.length, new Set(names).size]).toEqual([count, count]);
  const spaces = namesOf("AWS::Logs::MetricFilter", "MetricTransformations", "0", "MetricNamespace");
  expect([spaces.length, new Set(spaces).size]).toEqual([4, 2]);
});

/** As Lambda would see them: references become what AWS puts there. */
function asDeployed(variables: Readonly<Record<string, unknown>>): Record<string, string> {
  const text = (name: string, value: unknown): string => {
    if (typeof value === "string") return value;
    if (name.endsWith("_URL")) return "https://sqs.us-east-1.amazonaws.com/1/name";
    if (name.endsWith("_ARN")) return "arn:aws:a:us-east-1:1:b";
    return name === "TOREN_DB_PORT" ? "5432" : "value";
  };
  return {
    AWS_REGION: "us-east-1",
    ...Object.fromEntries(Object.entries(variables).map(([name, value]) => [name, text(name, value)])),
  };
}
