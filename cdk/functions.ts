// One deployed function: its bundle, a role of its own that may do what is granted to it and nothing more, and a log group that forgets.
import { Duration, Stack } from "aws-cdk-lib";
import { Effect, PolicyStatement, Role, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import { Architecture, type Code, Function as LambdaFunction, RecursiveLoop, Runtime } from "aws-cdk-lib/aws-lambda";
import type { LogGroup } from "aws-cdk-lib/aws-logs";
import { Construct } from "constructs";
import { allow } from "./allow.ts";
import { type LogDays, logGroup } from "./logs.ts";
import type { Network } from "./network.ts";

export type FunctionName = "tick" | "task" | "guardian" | "dead-letter" | "api" | "events" | "migrate";

export interface FunctionProps {
  readonly code: Code;
  readonly description: string;
  readonly memoryMb: number;
  readonly timeoutMs: number;
  readonly environment: Readonly<Record<string, string>>;
  /** Null: outside any VPC, for a database with an address of its own. */
  readonly network: Network | null;
  readonly logDays: LogDays;
  /** It consumes and sends to our queues: Lambda would stop such a loop after some 16 hops. Our own bounds are attempts and RECEIVES_MAX. */
  readonly loops?: boolean;
}

/** Makes a function with what all of them have in common: bundle, environment, network. */
export type MakeFunction = (scope: Construct, name: FunctionName, own: OwnSettings) => TorenFunction;
export type OwnSettings = Pick<FunctionProps, "description" | "memoryMb" | "timeoutMs" | "loops">;

/** What Lambda itself does with the role to bring a function into a VPC. None of it can be narrowed to a resource. */
const NETWORK_ACTIONS = [
  "ec2:AssignPrivateIpAddresses",
  "ec2:CreateNetworkInterface",
  "ec2:DeleteNetworkInterface",
  "ec2:DescribeNetworkInterfaces",
  "ec2:DescribeSubnets",
  "ec2:UnassignPrivateIpAddresses",
];

export class TorenFunction extends Construct {
  readonly fn: LambdaFunction;
  readonly role: Role;
  readonly logs: LogGroup;

  constructor(scope: Construct, id: FunctionName, props: FunctionProps) {
    super(scope, id);
    const { network } = props;
    this.logs = logGroup(this, "Logs", props.logDays);
    this.role = new Role(this, "Role", {
      assumedBy: new ServicePrincipal("lambda.amazonaws.com"),
      description: `Toren's function ${id}`,
    });
    this.logs.grantWrite(this.role);
    if (network !== null) this.allowNetwork();
    this.fn = new LambdaFunction(this, "Function", {
      code: props.code,
      description: props.description,
      handler: "index.handler",
      runtime: Runtime.NODEJS_24_X,
      architecture: Architecture.ARM_64,
      memorySize: props.memoryMb,
      timeout: Duration.millis(props.timeoutMs),
      environment: { ...props.environment },
      role: this.role,
      logGroup: this.logs,
      ...(props.loops === true ? { recursiveLoop: RecursiveLoop.ALLOW } : {}),
      ...(network === null
        ? {}
        : {
            vpc: network.vpc,
            vpcSubnets: network.inside,
            securityGroups: [network.workers],
            ipv6AllowedForDualStack: network.dualStack,
          }),
    });
  }

  private allowNetwork(): void {
    allow(this.role, {
      actions: NETWORK_ACTIONS,
      resources: ["*"],
      why: "Lambda makes the function's network interfaces with this role, and AWS allows no narrower resource. The function's code is denied the same.",
    });
    this.role.addToPolicy(
      new PolicyStatement({
        effect: Effect.DENY,
        actions: NETWORK_ACTIONS,
        resources: ["*"],
        conditions: {
          ArnLike: {
            "lambda:SourceFunctionArn": Stack.of(this).formatArn({ service: "lambda", resource: "function:*" }),
          },
        },
      }),
    );
  }
}
