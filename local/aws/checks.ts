// What `toren doctor --aws` looks at in a deployed stack, beside its agents. Reads only, but for one call of each model.
import type { CloudWatchClient, MetricDataQuery } from "@aws-sdk/client-cloudwatch";
import { createModels } from "../../shared/adapters/model/models.ts";
import { messageOf } from "../../shared/core/errors.ts";
import type { Finding } from "../terminal/finding.ts";
import { counted, duration } from "../terminal/units.ts";
import type { Installation } from "./installation.ts";

/** Fewer functions at once than this, over the whole region, are a new account's. */
const QUOTA_SMALL = 100;
const LOOK_BACK_MS = 30 * 60_000;
/** As the stack's own alarms see it. */
const GUARDIAN_SILENT_MS = 5 * 60_000;
const MESSAGE_OLD_S = 15 * 60;
/** Enough for a word, and for models that think first. */
const ANSWER_TOKENS = 256;
const ANSWER_MS = 60_000;

/** A finding, whatever happens. */
async function found(what: string, look: () => Promise<Omit<Finding, "what">>): Promise<Finding> {
  try {
    return { what, ...(await look()) };
  } catch (e) {
    return { what, state: "wrong", found: messageOf(e) };
  }
}

export const quotaFinding = (): Promise<Finding> =>
  found("lambda quota", async () => {
    const { LambdaClient, GetAccountSettingsCommand } = await import("@aws-sdk/client-lambda");
    const client = new LambdaClient({});
    const { AccountLimit } = await client.send(new GetAccountSettingsCommand({})).finally(() => client.destroy());
    const most = AccountLimit?.ConcurrentExecutions ?? 0;
    const small = most < QUOTA_SMALL;
    return {
      state: small ? "note" : "ok",
      found: `${most} functions at once in this region${small ? ", a new account's quota: ask AWS for 1,000" : ""}`,
    };
  });

/** One call of each model, with the installation's keys, from this machine. */
export const modelFindings = (models: readonly string[], env: NodeJS.ProcessEnv): Promise<Finding[]> =>
  Promise.all(
    models.map((name) =>
      found(`model ${name}`, async () => {
        const resolved = await createModels({ env }).resolve(name);
        if (!resolved.ok) return { state: "wrong", found: resolved.error.message };
        const start = performance.now();
        const answer = await resolved.model.ask(
          {
            model: name,
            system: "",
            tools: [],
            messages: [{ role: "user", content: [{ type: "text", text: "Answer with the word yes." }] }],
            maxTokens: ANSWER_TOKENS,
            options: {},
          },
          AbortSignal.timeout(ANSWER_MS),
        );
        if (!answer.ok) return { state: "wrong", found: answer.failure.error.message };
        return { state: "ok", found: `answers in ${duration(performance.now() - start)}` };
      }),
    ),
  );

interface Series {
  readonly namespace: string;
  readonly metric: string;
  readonly dimension: string;
  readonly of: string;
  readonly statistic: "Maximum" | "Sum";
}
/** A minute's value, newest first. */
interface Point {
  readonly at: number;
  readonly value: number;
}

/** What CloudWatch knows: alarms, ages of messages, passes of the guardian, connections. */
export async function metricFindings({ alarms, queues, functions, database }: Installation): Promise<Finding[]> {
  const sdk = await import("@aws-sdk/client-cloudwatch");
  const client = new sdk.CloudWatchClient({});
  const of = (series: Series): Promise<Point[]> => readSeries(client, series);
  const guardian = functions.get("guardian") ?? "";
  try {
    return await Promise.all([
      found("alarms", () => readAlarms(client, alarms)),
      found("guardian", async () => {
        const series = { namespace: "AWS/Lambda", dimension: "FunctionName", of: guardian, statistic: "Sum" } as const;
        const errors = new Map((await of({ ...series, metric: "Errors" })).map(({ at, value }) => [at, value]));
        const passes = (await of({ ...series, metric: "Invocations" })).filter(
          ({ at, value }) => value > (errors.get(at) ?? 0),
        );
        return lastPass(passes[0]);
      }),
      ...[...queues].map(([name, queue]) =>
        found(`queue ${name}`, async () => {
          const metric = "ApproximateAgeOfOldestMessage";
          const ages = await of({
            namespace: "AWS/SQS",
            metric,
            dimension: "QueueName",
            of: queue,
            statistic: "Maximum",
          });
          return oldest(ages[0]?.value ?? 0);
        }),
      ),
      ...(database === null
        ? []
        : [
            found("connections", async () => {
              const metric = "DatabaseConnections";
              const dimension = "DBInstanceIdentifier";
              const all = await of({ namespace: "AWS/RDS", metric, dimension, of: database, statistic: "Maximum" });
              if (all.length === 0) return { state: "note", found: "CloudWatch knows of none yet" };
              const most = Math.max(...all.map(({ value }) => value));
              return { state: "ok", found: `${all[0]?.value ?? 0} now, ${most} at most in half an hour` };
            }),
          ]),
    ]);
  } finally {
    client.destroy();
  }
}

async function readSeries(client: CloudWatchClient, series: Series): Promise<Point[]> {
  const { GetMetricDataCommand } = await import("@aws-sdk/client-cloudwatch");
  const now = Date.now();
  const query: MetricDataQuery = {
    Id: "series",
    MetricStat: {
      Metric: {
        Namespace: series.namespace,
        MetricName: series.metric,
        Dimensions: [{ Name: series.dimension, Value: series.of }],
      },
      Period: 60,
      Stat: series.statistic,
    },
  };
  const { MetricDataResults = [] } = await client.send(
    new GetMetricDataCommand({
      MetricDataQueries: [query],
      StartTime: new Date(now - LOOK_BACK_MS),
      EndTime: new Date(now),
      ScanBy: "TimestampDescending",
    }),
  );
  const { Timestamps = [], Values = [] } = MetricDataResults[0] ?? {};
  return Timestamps.map((at, i) => ({ at: at.getTime(), value: Values[i] ?? 0 }));
}

async function readAlarms(client: CloudWatchClient, names: readonly string[]): Promise<Omit<Finding, "what">> {
  const { DescribeAlarmsCommand } = await import("@aws-sdk/client-cloudwatch");
  const { MetricAlarms = [] } = await client.send(new DescribeAlarmsCommand({ AlarmNames: [...names] }));
  const ringing = MetricAlarms.filter(({ StateValue }) => StateValue === "ALARM");
  if (ringing.length === 0) return { state: "ok", found: `${counted(MetricAlarms.length, "alarm")}, none rings` };
  return {
    state: "wrong",
    found: ringing.map(({ AlarmDescription, AlarmName }) => AlarmDescription ?? AlarmName).join(" "),
  };
}

function lastPass(last: Point | undefined): Omit<Finding, "what"> {
  if (last === undefined) return { state: "wrong", found: "no pass succeeded in half an hour: see its log" };
  const agoMs = Math.max(0, Date.now() - last.at);
  const state = agoMs > GUARDIAN_SILENT_MS ? "wrong" : "ok";
  return { state, found: `its last pass succeeded ${duration(agoMs)} ago, by the minute` };
}

const oldest = (seconds: number): Omit<Finding, "what"> => ({
  state: seconds > MESSAGE_OLD_S ? "wrong" : "ok",
  found: seconds === 0 ? "empty" : `the oldest message waits for ${duration(seconds * 1_000)}`,
});
