// Work that Lambda's 15 minutes don't fit, on Fargate: no service waits for it; who finds such work starts a worker, up to a cap, and an idle one ends. The
// image is AWS' own for Node, public; our bundle is fetched from the bucket of assets, so that nothing is built with Docker. With `workers: "fargate"` a
// service keeps workers running, which take the short tasks as well.
import { readFileSync } from "node:fs";
import { Duration, Names, Stack } from "aws-cdk-lib";
import { AdjustmentType } from "aws-cdk-lib/aws-applicationautoscaling";
import { MathExpression } from "aws-cdk-lib/aws-cloudwatch";
import {
  AwsLogDriverMode,
  Cluster,
  ContainerImage,
  ContainerInsights,
  CpuArchitecture,
  FargateService,
  FargateTaskDefinition,
  type ICluster,
  LogDriver,
  OperatingSystemFamily,
} from "aws-cdk-lib/aws-ecs";
import { type IRole, Role, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import type { Asset } from "aws-cdk-lib/aws-s3-assets";
import type { Queue } from "aws-cdk-lib/aws-sqs";
import { Construct } from "constructs";
import { DRAIN_MS, LONG_TASKS_PER_WORKER } from "../shared/core/limits.ts";
import { allow } from "./allow.ts";
import { acknowledge } from "./findings.ts";
import { type LogDays, logGroup } from "./logs.ts";
import type { Network } from "./network.ts";

const IMAGE = "public.ecr.aws/lambda/nodejs:24";
const NODE = "/var/lang/bin/node";
const CPU = 512;
const MEMORY_MIB = 2_048;
/** ECS takes 255. */
const FAMILY_MAX_CHARS = 100;
/** How long a worker that is told to stop may take: it drains, and then some. */
const STOP = Duration.millis(DRAIN_MS + 10_000);
/** Fetches the bundle, then is the worker. Encoded, since CloudFormation would take its `${…}` for references. */
const BOOT = readFileSync(new URL("./worker-boot.mjs", import.meta.url), "base64");
const FOLDER = "/tmp";

export interface LongWorkProps {
  readonly network: Network;
  readonly bundle: Asset;
  readonly environment: Readonly<Record<string, string>>;
  readonly max: number;
  readonly logDays: LogDays;
  /** Workers are kept running by a service, and take short tasks too. */
  readonly onFargate: boolean;
}

export class LongWork extends Construct {
  readonly role: Role;
  readonly cluster: Cluster;
  readonly onFargate: boolean;
  private readonly definition: FargateTaskDefinition;
  private readonly props: LongWorkProps;

  constructor(scope: Construct, id: string, props: LongWorkProps) {
    super(scope, id);
    this.props = props;
    this.onFargate = props.onFargate;
    this.cluster = new Cluster(this, "Cluster", {
      vpc: props.network.vpc,
      containerInsightsV2: ContainerInsights.DISABLED,
    });
    this.role = new Role(this, "Role", {
      assumedBy: new ServicePrincipal("ecs-tasks.amazonaws.com"),
      description: "Toren's workers for long tasks",
    });
    const { bundle } = props;
    allow(this.role, { actions: ["s3:GetObject"], resources: [bundle.bucket.arnForObjects(bundle.s3ObjectKey)] });
    this.definition = new FargateTaskDefinition(this, "Task", {
      // Of this installation alone: another one in the same stack has its own.
      family: Names.uniqueResourceName(this, { maxLength: FAMILY_MAX_CHARS, separator: "-" }),
      cpu: CPU,
      memoryLimitMiB: MEMORY_MIB,
      runtimePlatform: { cpuArchitecture: CpuArchitecture.ARM64, operatingSystemFamily: OperatingSystemFamily.LINUX },
      taskRole: this.role,
      volumes: [{ name: "scratch" }],
    });
    this.container();
    this.explain();
  }

  /** What whoever starts workers is told. Nobody does where a service keeps them running. */
  environment(): Record<string, string> {
    if (this.onFargate) return {};
    const { network, max } = this.props;
    return {
      TOREN_ECS_CLUSTER: this.cluster.clusterName,
      // The family: the newest revision is meant, also by a function of the version before.
      TOREN_LONG_TASK_DEFINITION: this.definition.family,
      TOREN_LONG_TASK_SUBNETS: network.vpc.selectSubnets(network.inside).subnetIds.join(","),
      TOREN_LONG_TASK_SECURITY_GROUP: network.workers.securityGroupId,
      TOREN_LONG_TASKS_MAX: String(max),
    };
  }

  /** Counts the workers that are there, and starts more. */
  grantStart(role: IRole): void {
    if (this.onFargate) return;
    const inCluster = { ArnEquals: { "ecs:cluster": this.cluster.clusterArn } };
    allow(role, {
      actions: ["ecs:ListTasks"],
      resources: ["*"],
      conditions: inCluster,
      why: "ListTasks knows no resource; the condition holds it to Toren's cluster.",
    });
    allow(role, {
      actions: ["ecs:DescribeTasks"],
      resources: [this.cluster.arnForTasks("*")],
      why: "Tasks have random ids; the cluster is Toren's own.",
    });
    const resourceName = `${this.definition.family}:*`;
    allow(role, {
      actions: ["ecs:RunTask"],
      resources: [Stack.of(this).formatArn({ service: "ecs", resource: "task-definition", resourceName })],
      conditions: inCluster,
      why: "Revisions of Toren's own task definition: the newest is started.",
    });
    allow(role, {
      actions: ["iam:PassRole"],
      resources: [this.role.roleArn, this.definition.obtainExecutionRole().roleArn],
      conditions: { StringEquals: { "iam:PassedToService": "ecs-tasks.amazonaws.com" } },
    });
  }

  /** `workers: "fargate"`: at least one worker, more while there is more than each can hold. */
  keepRunning(queue: Queue): void {
    const service = new FargateService(this, "Service", {
      cluster: this.cluster as ICluster,
      taskDefinition: this.definition,
      desiredCount: 1,
      minHealthyPercent: 100,
      maxHealthyPercent: 200,
      assignPublicIp: false,
      vpcSubnets: this.props.network.inside,
      securityGroups: [this.props.network.workers],
      circuitBreaker: { rollback: true },
    });
    // What is worked on counts too: by what waits alone a busy worker would look idle, and be stopped.
    const load = new MathExpression({
      expression: "waiting + working",
      usingMetrics: {
        waiting: queue.metricApproximateNumberOfMessagesVisible({ statistic: "Maximum", period: Duration.minutes(1) }),
        working: queue.metricApproximateNumberOfMessagesNotVisible({
          statistic: "Maximum",
          period: Duration.minutes(1),
        }),
      },
      period: Duration.minutes(1),
    });
    const workers = Array.from({ length: this.props.max }, (_, i) => i);
    service.autoScaleTaskCount({ minCapacity: 1, maxCapacity: this.props.max }).scaleOnMetric("Load", {
      metric: load,
      adjustmentType: AdjustmentType.EXACT_CAPACITY,
      cooldown: Duration.minutes(2),
      scalingSteps: workers.map((i) => ({
        lower: i * LONG_TASKS_PER_WORKER,
        ...(i === workers.length - 1 ? {} : { upper: (i + 1) * LONG_TASKS_PER_WORKER }),
        change: i + 1,
      })),
    });
  }

  private container(): void {
    const { bundle, environment, logDays, onFargate } = this.props;
    const container = this.definition.addContainer("worker", {
      containerName: "worker",
      image: ContainerImage.fromRegistry(IMAGE),
      entryPoint: [NODE, "--input-type=module", "--eval"],
      command: [`await import("data:text/javascript;base64,${BOOT}")`],
      environment: {
        ...environment,
        TOREN_WORK_QUEUES: onFargate ? "tasks-short,tasks-long" : "tasks-long",
        TOREN_IDLE_EXIT: String(!onFargate),
        AWS_REGION: Stack.of(this).region,
        TOREN_BUNDLE_BUCKET: bundle.s3BucketName,
        TOREN_BUNDLE_KEY: bundle.s3ObjectKey,
        TOREN_BUNDLE_FOLDER: FOLDER,
      },
      logging: LogDriver.awsLogs({
        logGroup: logGroup(this, "Logs", logDays),
        streamPrefix: "worker",
        mode: AwsLogDriverMode.NON_BLOCKING,
      }),
      stopTimeout: STOP,
      readonlyRootFilesystem: true,
    });
    container.addMountPoints({ sourceVolume: "scratch", containerPath: FOLDER, readOnly: false });
  }

  private explain(): void {
    acknowledge(this.definition, {
      "AwsSolutions-ECS2": "What is in the environment are names and addresses; secrets are read where they lie.",
    });
    acknowledge(this.cluster, {
      "AwsSolutions-ECS4":
        "Container Insights cost more than the workers; their log and the queue's metrics say how they do.",
    });
  }
}
