import { describe, expect, test } from "@jest/globals";
import type { Template } from "aws-cdk-lib/assertions";
import { DATABASE_CLASSES } from "../../../cdk/profile.ts";
import { INSTALLATIONS, installation, ofType, only, property, templateOf } from "../support.ts";

const withDatabase = Object.keys(INSTALLATIONS).filter((name) => !/database/.test(name));
const server = (template: Template) => only(template, "AWS::RDS::DBInstance");

describe.each(withDatabase)("the database of an installation: %s", (name) => {
  test("nobody outside of the VPC reaches it: no public address, and in from the workers' group alone", () => {
    const template = installation(name);
    expect(server(template).Properties).toMatchObject({ PubliclyAccessible: false, Port: "5432" });
    const [[ownGroup]] = property<[{ "Fn::GetAtt": [string] }][]>(server(template), "VPCSecurityGroups").map(
      (group) => (group as unknown as { "Fn::GetAtt": [string] })["Fn::GetAtt"],
    ) as [[string]];
    const group = only(template, "AWS::EC2::SecurityGroup", ownGroup);
    expect(group.Properties.SecurityGroupIngress).toBeUndefined();
    const ways = ofType(template, "AWS::EC2::SecurityGroupIngress").filter(([id]) => id.startsWith("TorenDatabase"));
    expect(ways).toHaveLength(1);
    expect(ways[0]?.[1].Properties).toMatchObject({
      FromPort: 5432,
      ToPort: 5432,
      SourceSecurityGroupId: { "Fn::GetAtt": [expect.stringMatching(/^TorenNetworkWorkers/), "GroupId"] },
    });
    // It has no way out at all: the rule that stands for none.
    expect(group.Properties.SecurityGroupEgress).toEqual([expect.objectContaining({ CidrIp: "255.255.255.255/32" })]);
  });

  test("what is written is encrypted, what is sent too, and who signs in has a token", () => {
    const template = installation(name);
    expect(server(template).Properties).toMatchObject({
      StorageEncrypted: true,
      EnableIAMDatabaseAuthentication: true,
      ManageMasterUserPassword: true,
      CACertificateIdentifier: "rds-ca-rsa2048-g1",
    });
    expect(server(template).Properties.MasterUserPassword).toBeUndefined();
    expect(only(template, "AWS::RDS::DBParameterGroup").Properties).toMatchObject({
      Family: "postgres17",
      Parameters: { "rds.force_ssl": "1" },
    });
  });

  test("it outlives its stack: protected, and a snapshot is taken whenever it is removed or replaced", () => {
    expect(server(installation(name))).toMatchObject({
      DeletionPolicy: "Snapshot",
      UpdateReplacePolicy: "Snapshot",
      Properties: { DeletionProtection: true, CopyTagsToSnapshot: true },
    });
  });

  test("RDS chooses minor versions, nobody the next major; storage grows by itself", () => {
    expect(server(installation(name)).Properties).toMatchObject({
      Engine: "postgres",
      EngineVersion: "17",
      AutoMinorVersionUpgrade: true,
      AllowMajorVersionUpgrade: false,
      StorageType: "gp3",
      MaxAllocatedStorage: expect.any(Number),
    });
  });
});

test("profile production has a second server and longer backups; small says why not", () => {
  expect(server(installation("production")).Properties).toMatchObject({ MultiAZ: true, BackupRetentionPeriod: 14 });
  expect(server(installation("as it comes")).Properties).toMatchObject({ MultiAZ: false, BackupRetentionPeriod: 7 });
});

test("with a database by its URL there is none of ours, and functions are told where theirs is", () => {
  const template = installation("a database by its URL");
  expect(ofType(template, "AWS::RDS::DBInstance")).toEqual([]);
  expect(ofType(template, "AWS::EC2::VPC")).toEqual([]);
  for (const [, fn] of ofType(template, "AWS::Lambda::Function"))
    expect(fn.Properties).toMatchObject({
      Environment: { Variables: { DATABASE_URL: "postgres://toren@db.example.com/toren" } },
    });
});

test("options of the database reach it", () => {
  const template = templateOf({
    databaseClass: "r7g.large",
    databaseMaxStorageGb: "500",
    deletionProtection: "false",
  });
  expect(server(template).Properties).toMatchObject({
    DBInstanceClass: "db.r7g.large",
    MaxAllocatedStorage: 500,
    DeletionProtection: false,
  });
  expect(Object.keys(DATABASE_CLASSES)).toContain("r7g.large");
});
