// The HTTP API: a regional REST API, since only that kind streams answers. Everything goes to one function, the log of a run to another that streams.
// Who may do what is decided there, by API keys.
import { Duration, Names } from "aws-cdk-lib";
import {
  AccessLogFormat,
  type CfnRestApi,
  EndpointType,
  LambdaIntegration,
  LogGroupLogDestination,
  MethodLoggingLevel,
  ResponseTransferMode,
  RestApi,
} from "aws-cdk-lib/aws-apigateway";
import type { CfnLogGroup } from "aws-cdk-lib/aws-logs";
import { Construct } from "constructs";
import { API_INVOCATION_MS, EVENTS_INVOCATION_MS } from "../shared/core/limits.ts";
import { acknowledge } from "./findings.ts";
import type { MakeFunction, TorenFunction } from "./functions.ts";
import { type LogDays, logGroup } from "./logs.ts";
import type { Profile } from "./profile.ts";

export interface StageSettings {
  /** The first part of the path. Default: `v1`. */
  readonly name?: string;
  /** Requests a second, over all clients; more are answered with 429. Default: by the profile. */
  readonly requestsPerSecond?: number;
  /** At once, before that rate holds. Default: by the profile. */
  readonly burst?: number;
  /** One line a request, in a log group. API Gateway needs a role for it, which is one an account and region. Default: by the profile. */
  readonly accessLogs?: boolean;
}

export interface ApiProps extends StageSettings {
  readonly profile: Profile;
  readonly make: MakeFunction;
}

export class Api extends Construct {
  readonly rest: RestApi;
  readonly api: TorenFunction;
  readonly events: TorenFunction;

  constructor(scope: Construct, id: string, props: ApiProps) {
    super(scope, id);
    const { profile, make, accessLogs = profile.accessLogs, name: stageName = "v1" } = props;
    this.api = make(this, "api", {
      description: "Toren: the HTTP API",
      memoryMb: 1_024, // the text of a PDF is read while it is uploaded
      timeoutMs: API_INVOCATION_MS,
    });
    this.events = make(this, "events", {
      description: "Toren: the log of a run, as it grows",
      memoryMb: 256,
      timeoutMs: EVENTS_INVOCATION_MS,
    });
    this.rest = new RestApi(this, "Rest", {
      // What API Gateway's pages call it; nothing hangs on it.
      restApiName: Names.uniqueResourceName(scope, { separator: "-" }),
      description: "Toren",
      endpointTypes: [EndpointType.REGIONAL],
      // Bodies reach the function as they are: files, and JSON too.
      binaryMediaTypes: ["*/*"],
      cloudWatchRole: accessLogs,
      deployOptions: {
        stageName,
        throttlingRateLimit: props.requestsPerSecond ?? profile.requestsPerSecond,
        throttlingBurstLimit: props.burst ?? profile.burst,
        ...(accessLogs
          ? {
              accessLogDestination: new LogGroupLogDestination(logGroup(this, "AccessLogs", profile.logDays)),
              accessLogFormat: AccessLogFormat.jsonWithStandardFields(),
              loggingLevel: MethodLoggingLevel.ERROR,
              dataTraceEnabled: false,
            }
          : {}),
      },
    });
    if (accessLogs) this.keepErrorLog(stageName, profile.logDays);
    const made = this.rest.node.defaultChild as CfnRestApi;
    // As it comes it takes TLS 1.0; and requests that were sent to this address alone.
    made.securityPolicy = "SecurityPolicy_TLS13_1_2_2021_06";
    made.endpointAccessMode = "STRICT";
    this.rest.node.tryRemoveChild("Endpoint"); // an output; the installation has one of its own
    this.routes();
    this.explain(accessLogs);
  }

  /** API Gateway would make this log group itself, and keep it for ever. */
  private keepErrorLog(stageName: string, days: LogDays): void {
    const group = logGroup(this, "ErrorLogs", days);
    (group.node.defaultChild as CfnLogGroup).logGroupName =
      `API-Gateway-Execution-Logs_${this.rest.restApiId}/${stageName}`;
    this.rest.deploymentStage.node.addDependency(group);
  }

  /** A resource that is there hides the proxy from its own path: what isn't its method goes to the api all the same. */
  private routes(): void {
    const all = { scopePermissionToMethod: false };
    const whole = new LambdaIntegration(this.api.fn, all);
    const streamed = new LambdaIntegration(this.events.fn, {
      ...all,
      responseTransferMode: ResponseTransferMode.STREAM,
      timeout: Duration.millis(EVENTS_INVOCATION_MS),
    });
    const { root } = this.rest;
    root.addMethod("ANY", whole);
    root.addProxy({ defaultIntegration: whole });
    const runs = root.addResource("runs");
    runs.addMethod("ANY", whole);
    const run = runs.addResource("{runId}");
    run.addMethod("ANY", whole);
    run.addProxy({ defaultIntegration: whole });
    const events = run.addResource("events");
    events.addMethod("ANY", whole);
    events.addMethod("GET", streamed);
  }

  private explain(accessLogs: boolean): void {
    acknowledge(this.rest, {
      "AwsSolutions-APIG2": "The function checks every request against its schema, and answers with what is wrong.",
      "AwsSolutions-APIG3":
        "A firewall costs $5 a month and more; a throttle and keys with a checksum are in front of the database.",
      "AwsSolutions-APIG4": "The function checks the API key, as it does on a laptop; nothing but health is open.",
      "AwsSolutions-COG4": "The function checks the API key; there is no pool of users.",
      ...(accessLogs
        ? {
            "AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/service-role/AmazonAPIGatewayPushToCloudWatchLogs]":
              "The role by which API Gateway writes its logs, as AWS defines it.",
          }
        : {
            "AwsSolutions-APIG1": "Requests are in the function's log; access logs are part of profile production.",
            "AwsSolutions-APIG6": "Errors are in the function's log; stage logs are part of profile production.",
          }),
    });
  }
}
