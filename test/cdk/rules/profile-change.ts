// From one profile to another and back, on a stack that is deployed: what holds data stays the resource that it is.
import { describe, expect, test } from "@jest/globals";
import type { Template } from "aws-cdk-lib/assertions";
import { installation, ofType, only, type Resource, resourcesOf, templateOf } from "../support.ts";

/** Types that hold data or are addresses for others, and what of them CloudFormation can't change in place (the resource specification: "Replacement"). */
const LASTING: Readonly<Record<string, readonly string[]>> = {
  "AWS::RDS::DBInstance": [
    "DBInstanceIdentifier",
    "DBName",
    "DBSubnetGroupName",
    "AvailabilityZone",
    "CharacterSetName",
    "DBSnapshotIdentifier",
    "KmsKeyId",
    "MasterUsername",
    "SourceDBInstanceIdentifier",
    "StorageEncrypted",
    "Timezone",
  ],
  "AWS::RDS::DBSubnetGroup": ["DBSubnetGroupName"],
  "AWS::RDS::DBParameterGroup": ["DBParameterGroupName", "Family", "Description"],
  "AWS::S3::Bucket": ["BucketName"],
  "AWS::SecretsManager::Secret": ["Name", "GenerateSecretString"],
  "AWS::SQS::Queue": ["QueueName", "FifoQueue"],
  "AWS::EC2::VPC": ["CidrBlock", "InstanceTenancy"],
  "AWS::EC2::Subnet": ["CidrBlock", "AvailabilityZone", "AvailabilityZoneId", "VpcId", "Ipv6CidrBlock"],
  "AWS::EC2::SecurityGroup": ["GroupName", "GroupDescription", "VpcId"],
  "AWS::ApiGateway::RestApi": [],
  "AWS::Scheduler::ScheduleGroup": ["Name"],
  "Custom::TorenMigration": ["ServiceToken"],
  "AWS::SNS::Topic": ["TopicName"],
};

/** What of a resource would have CloudFormation make another one. */
const fixed = ({ Type, Properties }: Resource): unknown =>
  Object.fromEntries((LASTING[Type] ?? []).map((name) => [name, Properties[name]]));

/** NAT's own group comes and goes with the instance. */
const lasting = (template: Template): [string, Resource][] =>
  Object.entries(resourcesOf(template)).filter(([id, { Type }]) => Type in LASTING && !id.includes("NatSecurityGroup"));

describe.each([
  ["as it comes", "production"],
  ["production", "as it comes"],
  ["as it comes", "workers on Fargate"],
  ["workers on Fargate", "production, workers on Fargate"],
])("an installation changes: %s → %s", (from, to) => {
  const [before, after] = [installation(from), installation(to)];

  test("whatever holds data stays, under its logical id, and nothing makes CloudFormation replace it", () => {
    const now = resourcesOf(after);
    expect(lasting(before).length).toBeGreaterThan(20);
    for (const [id, resource] of lasting(before)) {
      expect([id, now[id]?.Type]).toEqual([id, resource.Type]);
      expect([id, fixed(now[id] as Resource)]).toEqual([id, fixed(resource)]);
    }
  });

  test("functions keep their names, so that metrics and logs go on", () => {
    const ids = (template: Template): string[] => ofType(template, "AWS::Lambda::Function").map(([id]) => id);
    expect(ids(after)).toEqual(ids(before));
  });
});

test("a migration is one resource for ever: it names no version that would replace it", () => {
  const [before, after] = [installation("as it comes"), installation("production")];
  const properties = (template: Template): string[] =>
    Object.keys(only(template, "Custom::TorenMigration").Properties).sort();
  expect(properties(before)).toEqual(["Code", "Database", "KeyRelease", "ServiceTimeout", "ServiceToken", "Users"]);
  expect(properties(after)).toEqual(properties(before));
});

describe("another database is migrated too, with the code that was there before", () => {
  const database = (template: Template): unknown => only(template, "Custom::TorenMigration").Properties.Database;

  test("of the stack: CloudFormation sees that it is another instance", () => {
    const [id] = ofType(installation("as it comes"), "AWS::RDS::DBInstance")[0] ?? [];
    expect(database(installation("as it comes"))).toEqual({ "Fn::GetAtt": [id, "DbiResourceId"] });
  });

  test("by its URL: the migration has its fingerprint, and no more of it", () => {
    const [one, same, another] = ["one", "one", "two"].map((password) =>
      database(templateOf({ databaseUrl: `postgres://toren:${password}@db.example.com/toren` })),
    );
    expect(one).toMatch(/^[0-9a-f]{16}$/);
    expect([same, another === one]).toEqual([one, false]);
  });
});

test("what was put into the bucket and never added is forgotten after a day; files never are", () => {
  const { LifecycleConfiguration } = only(installation("as it comes"), "AWS::S3::Bucket").Properties as {
    LifecycleConfiguration: { Rules: { Prefix?: string; ExpirationInDays?: number }[] };
  };
  expect(LifecycleConfiguration.Rules.filter(({ ExpirationInDays }) => ExpirationInDays !== undefined)).toEqual([
    { Prefix: "uploads/", ExpirationInDays: 1, Status: "Enabled" },
  ]);
});

test("what holds data is kept when the stack goes: files, and a snapshot of the database", () => {
  const template = installation("as it comes");
  expect(only(template, "AWS::S3::Bucket")).toMatchObject({ DeletionPolicy: "Retain", UpdateReplacePolicy: "Retain" });
  expect(only(template, "AWS::RDS::DBInstance")).toMatchObject({ DeletionPolicy: "Snapshot" });
});
