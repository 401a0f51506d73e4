// Alarms that can fire, each with what to look at. They go to a topic; an address given as `alarmEmail` hears of them.
import { Duration, Names, Stack } from "aws-cdk-lib";
import { CfnBudget } from "aws-cdk-lib/aws-budgets";
import {
  Alarm,
  ComparisonOperator,
  type IMetric,
  MathExpression,
  Metric,
  TreatMissingData,
} from "aws-cdk-lib/aws-cloudwatch";
import { SnsAction } from "aws-cdk-lib/aws-cloudwatch-actions";
import { type Grant, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import { FilterPattern, type IFilterPattern, MetricFilter } from "aws-cdk-lib/aws-logs";
import { Topic } from "aws-cdk-lib/aws-sns";
import { EmailSubscription } from "aws-cdk-lib/aws-sns-subscriptions";
import { Construct } from "constructs";
import type { Database } from "./database.ts";
import type { TorenFunction } from "./functions.ts";
import type { Queues } from "./queues.ts";
import type { Workers } from "./workers.ts";

export interface AlarmsProps {
  readonly queues: Queues;
  readonly workers: Workers;
  /** Null: the database is the user's, with alarms of its own. */
  readonly database: Database | null;
  readonly email?: string | undefined;
  /** US dollars a month, of everything in the account: alerts at 80 % and when the forecast passes it. */
  readonly budgetUsd?: number | undefined;
}

const MINUTE = Duration.minutes(1);
/** The guardian looks every 5 s while anything is leased: what is ready for so long nobody works on. */
const READY_TOO_LONG_MS = 5 * 60_000;
const DEAD_LETTER_UNREAD_S = 15 * 60;
const GIB = 2 ** 30;
/** RDS grows storage below a tenth; less than this is a table that outruns it. */
const STORAGE_LOW_BYTES = 2 * GIB;
const CONNECTIONS_HIGH_PERCENT = 80;

export class Alarms extends Construct {
  readonly topic: Topic;
  private readonly namespace: string;

  constructor(scope: Construct, id: string, props: AlarmsProps) {
    super(scope, id);
    // Of this installation alone: another one in the same stack has its own.
    this.namespace = `Toren/${Names.uniqueResourceName(scope, { separator: "-" })}`;
    this.topic = new Topic(this, "Topic", { displayName: "Toren", enforceSSL: true });
    // A topic with a policy of its own has lost the one that let the account's alarms in.
    this.publisher("cloudwatch.amazonaws.com");
    if (props.email !== undefined) this.topic.addSubscription(new EmailSubscription(props.email));
    this.ofWork(props);
    if (props.database !== null) this.ofDatabase(props.database);
    if (props.budgetUsd !== undefined) this.budget(props.budgetUsd);
  }

  private ofWork({ queues, workers: { guardian, deadLetter } }: AlarmsProps): void {
    this.alarm("DeadLetters", {
      metric: this.count(deadLetter, "DeadLetters", FilterPattern.stringValue("$.message", "=", "dead letter"), "1"),
      above: 0,
      minutes: 1,
      say: "A message failed five times: see toren_control.dead_letters, and the log of the function that it was for.",
    });
    this.alarm("DeadLettersUnread", {
      metric: queues.deadLetters.metricApproximateAgeOfOldestMessage({ period: MINUTE, statistic: "Maximum" }),
      above: DEAD_LETTER_UNREAD_S,
      minutes: 5,
      say: "Dead letters aren't written down: see the log of the function dead-letter. The database may be away.",
    });
    const passes = new MathExpression({
      expression: "FILL(invocations, 0) - FILL(errors, 0)",
      usingMetrics: {
        invocations: guardian.fn.metricInvocations({ period: MINUTE, statistic: "Sum" }),
        errors: guardian.fn.metricErrors({ period: MINUTE, statistic: "Sum" }),
      },
      period: MINUTE,
      label: "passes of the guardian",
    });
    this.alarm("GuardianSilent", {
      metric: passes,
      below: 1,
      minutes: 5,
      missing: TreatMissingData.BREACHING,
      say: "No pass of the guardian succeeded for five minutes: runs that stall aren't nudged. See its log.",
    });
    this.alarm("ReadyTooLong", {
      metric: this.count(
        guardian,
        "OldestReadyMs",
        FilterPattern.numberValue("$.oldestReadyMs", ">=", 0),
        "$.oldestReadyMs",
        "Maximum",
      ),
      above: READY_TOO_LONG_MS,
      minutes: 5,
      say: "A stream is ready and nobody works on it: the functions fail, or there is more work than they may do at once.",
    });
  }

  private ofDatabase({ instance, plan, burstable }: Database): void {
    this.alarm("Connections", {
      metric: instance.metricDatabaseConnections({ period: MINUTE, statistic: "Maximum" }),
      above: Math.floor((plan.maxConnections * CONNECTIONS_HIGH_PERCENT) / 100),
      minutes: 5,
      say: "The database has most of the connections that it takes: choose a larger class.",
    });
    // Not the balance, which is zero after a launch. Only such classes have credits at all.
    if (burstable)
      this.alarm("CpuCredits", {
        metric: instance.metric("CPUSurplusCreditsCharged", { period: Duration.minutes(5), statistic: "Maximum" }),
        above: 0,
        minutes: 15,
        say: "The database has used up its CPU credits and costs more from here on: choose a larger class if this goes on.",
      });
    this.alarm("Storage", {
      metric: instance.metricFreeStorageSpace({ period: Duration.minutes(5), statistic: "Minimum" }),
      below: STORAGE_LOW_BYTES,
      minutes: 15,
      say: "The database runs out of storage: raise maxStorageGb, or delete old runs.",
    });
  }

  /** A metric by the function's own log lines. */
  private count(
    { logs }: TorenFunction,
    metricName: string,
    filterPattern: IFilterPattern,
    metricValue: string,
    statistic = "Sum",
  ): Metric {
    const filter = new MetricFilter(this, `${metricName}Filter`, {
      logGroup: logs,
      metricNamespace: this.namespace,
      metricName,
      filterPattern,
      metricValue,
    });
    return filter.metric({ period: MINUTE, statistic });
  }

  private alarm(id: string, { metric, above, below, minutes, missing, say }: AlarmSettings): void {
    const period = metric instanceof Metric || metric instanceof MathExpression ? metric.period : MINUTE;
    new Alarm(this, id, {
      metric,
      threshold: above ?? below ?? 0,
      comparisonOperator:
        above === undefined ? ComparisonOperator.LESS_THAN_THRESHOLD : ComparisonOperator.GREATER_THAN_THRESHOLD,
      evaluationPeriods: Math.max(1, Math.round(minutes / period.toMinutes())),
      treatMissingData: missing ?? TreatMissingData.NOT_BREACHING,
      alarmDescription: say,
    }).addAlarmAction(new SnsAction(this.topic));
  }

  /** A service, for this account alone. */
  private publisher(service: string): Grant {
    const { account } = Stack.of(this);
    return this.topic.grantPublish(
      new ServicePrincipal(service, { conditions: { StringEquals: { "aws:SourceAccount": account } } }),
    );
  }

  private budget(usd: number): void {
    const grant = this.publisher("budgets.amazonaws.com");
    const subscribers = [{ subscriptionType: "SNS", address: this.topic.topicArn }];
    const notification = (
      notificationType: string,
      threshold: number,
    ): CfnBudget.NotificationWithSubscribersProperty => ({
      notification: { notificationType, threshold, comparisonOperator: "GREATER_THAN", thresholdType: "PERCENTAGE" },
      subscribers,
    });
    const budget = new CfnBudget(this, "Budget", {
      budget: { budgetType: "COST", timeUnit: "MONTHLY", budgetLimit: { amount: usd, unit: "USD" } },
      notificationsWithSubscribers: [notification("ACTUAL", 80), notification("FORECASTED", 100)],
    });
    grant.applyBefore(budget);
  }
}

interface AlarmSettings {
  readonly metric: IMetric;
  /** One of the two. */
  readonly above?: number;
  readonly below?: number;
  /** In a row. */
  readonly minutes: number;
  /** What no data means. Default: nothing is wrong. */
  readonly missing?: TreatMissingData;
  /** What it means, and where to look. */
  readonly say: string;
}
