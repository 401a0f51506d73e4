// Times: one-off schedules for what a queue can't delay so long, and the minute in which the guardian's pulse is started anew if it was lost.
import { Duration, RemovalPolicy, Stack } from "aws-cdk-lib";
import { Rule, Schedule } from "aws-cdk-lib/aws-events";
import { LambdaFunction } from "aws-cdk-lib/aws-events-targets";
import { type IRole, Role, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import { ScheduleGroup } from "aws-cdk-lib/aws-scheduler";
import { Construct } from "constructs";
import { allow } from "./allow.ts";
import type { TorenFunction } from "./functions.ts";
import type { Queues } from "./queues.ts";

/** The schedule that restarts a lost pulse: the least that EventBridge takes. */
const EVERY = Duration.minutes(1);

export class Timers extends Construct {
  private readonly group: ScheduleGroup;
  private readonly role: Role;
  private readonly queues: Queues;

  constructor(scope: Construct, id: string, queues: Queues) {
    super(scope, id);
    this.queues = queues;
    // It has a name of its own: kept, as CDK would have it, it would stand in the way of the next stack of this name.
    this.group = new ScheduleGroup(this, "Group", { removalPolicy: RemovalPolicy.DESTROY });
    // Nobody else's schedules may send with it: the service acts for this account and this group alone.
    this.role = new Role(this, "Role", {
      description: "Toren's one-off schedules send to the queue of ticks",
      assumedBy: new ServicePrincipal("scheduler.amazonaws.com", {
        conditions: {
          StringEquals: { "aws:SourceAccount": Stack.of(this).account, "aws:SourceArn": this.group.scheduleGroupArn },
        },
      }),
    });
    allow(this.role, { actions: ["sqs:SendMessage"], resources: [queues.byName.ticks.queueArn] });
  }

  environment(): Record<string, string> {
    return {
      TOREN_SCHEDULE_GROUP: this.group.scheduleGroupName,
      TOREN_TIMER_ROLE_ARN: this.role.roleArn,
      TOREN_TIMER_QUEUE_ARN: this.queues.byName.ticks.queueArn,
    };
  }

  /** Lets a function make schedules, and hand them the role that they send with. */
  grantSet(role: IRole): void {
    const schedules = Stack.of(this).formatArn({
      service: "scheduler",
      resource: "schedule",
      resourceName: `${this.group.scheduleGroupName}/*`,
    });
    allow(role, {
      actions: ["scheduler:CreateSchedule"],
      resources: [schedules],
      why: "A schedule's name is made of what it is for; the group is Toren's own.",
    });
    allow(role, {
      actions: ["iam:PassRole"],
      resources: [this.role.roleArn],
      conditions: { StringEquals: { "iam:PassedToService": "scheduler.amazonaws.com" } },
    });
  }

  /** A late pass is of no use, so none is repeated or kept. */
  everyMinute({ fn }: TorenFunction): void {
    fn.configureAsyncInvoke({ retryAttempts: 0, maxEventAge: Duration.seconds(60) });
    new Rule(this, "Minute", {
      description: "Toren: a pass of the guardian, and a pulse if there is none",
      schedule: Schedule.rate(EVERY),
      targets: [new LambdaFunction(fn, { retryAttempts: 0, maxEventAge: Duration.seconds(60) })],
    });
  }
}
