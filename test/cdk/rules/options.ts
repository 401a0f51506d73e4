// Options as the command line gives them, and as the construct takes them. What a process says of wrong ones is in bad-input.test.ts.
import { describe, expect, test } from "@jest/globals";
import { Stack } from "aws-cdk-lib";
import { Vpc } from "aws-cdk-lib/aws-ec2";
import { checkNames, OPTION_NAMES, optionsOf } from "../../../cdk/options.ts";
import { settingsOf, type TorenProps } from "../../../cdk/settings.ts";
import { appWith } from "../support.ts";

const read = (context: Readonly<Record<string, unknown>>): TorenProps => optionsOf((name) => context[name]);
const settings = (props: TorenProps) =>
  settingsOf(new Stack(appWith(), "Toren", { env: { region: "us-east-1" } }), props);

describe("options by -c", () => {
  test("those that are known are those that are read", () => {
    const asked = new Set<string>();
    optionsOf((name) => void asked.add(name));
    expect([...asked].sort()).toEqual([...OPTION_NAMES].sort());
  });

  test("become what the construct takes", () => {
    expect(read({})).toEqual({ database: {}, stage: {} });
    const given = { profile: "production", encryption: true, budgetUsd: "50.5", deletionProtection: "false", burst: 9 };
    expect(read(given)).toEqual({
      profile: "production",
      encryption: true,
      budgetUsd: 50.5,
      database: { deletionProtection: false },
      stage: { burst: 9 },
    });
    expect(read({ databaseUrl: "postgres://a/b" }).database).toEqual({ url: "postgres://a/b" });
  });

  test("of the wrong kind are refused by name", () => {
    expect(() => read({ budgetUsd: "a lot" })).toThrow("-c budgetUsd=a lot: it must be a number.");
    expect(() => read({ deletionProtection: "maybe" })).toThrow(
      "-c deletionProtection=maybe: it must be true or false.",
    );
    expect(() => read({ agents: ["a"] })).toThrow("The context value agents must be one word: -c agents=…");
  });

  test("that nobody knows are refused; CDK's own context and feature flags pass", () => {
    expect(() => checkNames(["agent"])).toThrow('There is no option "agent". Did you mean "agents"?');
    checkNames(["cli-telemetry", "@aws-cdk/core:explicitStackTags", "aws:cdk:bundling-stacks", ...OPTION_NAMES]);
  });
});

describe("options of the construct", () => {
  test.each<[string, TorenProps]>([
    ['There is no profile "huge". Known: production, small.', { profile: "huge" as "small" }],
    ['There is no kind of workers "ec2". Known: fargate, lambda.', { workers: "ec2" as "lambda" }],
    ['There is no database class "t3.micro".', { database: { instanceClass: "t3.micro" as "t4g.micro" } }],
    ["budgetUsd is 0: give US dollars a month, or leave it out.", { budgetUsd: 0 }],
    ["natRelease is 0: it counts from 1 up.", { natRelease: 0 }],
    ["databaseMaxStorageGb is 20: give whole gigabytes, 22 at least", { database: { maxStorageGb: 20 } }],
    ["requestsPerSecond is 0: nobody could ask anything", { stage: { requestsPerSecond: 0 } }],
    ["burst is 0.5: give a whole number of requests, 1 at least.", { stage: { burst: 0.5 } }],
    ['alarmEmail is "ops": give one address, as in ops@example.com.', { alarmEmail: "ops" }],
    ['stageName is "v 1": API Gateway takes letters, digits and underscores.', { stage: { name: "v 1" } }],
    ["The database's url must begin with postgres://", { database: { url: "mysql://db.example.com/toren" } }],
    ["needs a network: give a vpc", { database: { url: "postgres://db.example.com/toren" }, workers: "fargate" }],
  ])("are refused: %s", (sentence, props) => {
    expect(() => settings(props)).toThrow(sentence);
  });

  test("a VPC without private subnets is refused: functions would have no way out", () => {
    const stack = new Stack(appWith(), "Toren", { env: { region: "us-east-1" } });
    const vpc = Vpc.fromVpcAttributes(stack, "Theirs", {
      vpcId: "vpc-0123456789abcdef0",
      availabilityZones: ["us-east-1a"],
      publicSubnetIds: ["subnet-0123456789abcdef0"],
    });
    expect(() => settingsOf(stack, { vpc })).toThrow("The vpc has no private subnets with a way out");
  });

  test("a database's url may be a reference to a secret, so that no template holds it", () => {
    const url = "{{resolve:secretsmanager:my-database:SecretString:url}}";
    expect(settings({ database: { url } }).databaseUrl).toBe(url);
  });
});
