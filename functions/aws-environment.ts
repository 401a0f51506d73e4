// What a deployed function is told by its environment: the agreement between the stack (cdk/) and the functions. The stack sets what a function asks for
// below; whatever a function needs and doesn't find is named in one sentence, before anything else is done.
import * as z from "zod";
import { TorenError } from "../shared/core/errors.ts";
import { LEASE_MS } from "../shared/core/limits.ts";
import { QUEUE_NAMES, type QueueName } from "../shared/ports/queue.ts";

const text = z.string().min(1);
const url = z.url({ protocol: /^https?$/ });
const arn = z.string().startsWith("arn:");
const list = text.transform((names) => names.split(",").map((name) => name.trim()));

/** Each group: the variables it is made of, and what functions see of them. */
const GROUPS = {
  /** The queues of work, by their URLs, and the one where they leave what was received too often. */
  queues: z
    .object({
      TOREN_QUEUE_TICKS_URL: url,
      TOREN_QUEUE_TASKS_SHORT_URL: url,
      TOREN_QUEUE_TASKS_LONG_URL: url,
      TOREN_QUEUE_TASKS_SOLO_URL: url,
      TOREN_QUEUE_DEAD_URL: url,
    })
    .transform((v) => ({
      byName: {
        ticks: v.TOREN_QUEUE_TICKS_URL,
        "tasks-short": v.TOREN_QUEUE_TASKS_SHORT_URL,
        "tasks-long": v.TOREN_QUEUE_TASKS_LONG_URL,
        "tasks-solo": v.TOREN_QUEUE_TASKS_SOLO_URL,
      } satisfies Record<QueueName, string>,
      dead: v.TOREN_QUEUE_DEAD_URL,
    })),
  /** The queue of the guardian's pulse, which feeds the guardian alone, one message at a time. Whoever may take a lease may start the pulse. */
  pulse: z.object({ TOREN_QUEUE_PULSE_URL: url }).transform((v) => ({ queueUrl: v.TOREN_QUEUE_PULSE_URL })),
  /** One-off schedules for hints that SQS can't delay for so long. Their target is the queue of ticks, whose reader sends a task's hint on. */
  timers: z
    .object({ TOREN_SCHEDULE_GROUP: text, TOREN_TIMER_ROLE_ARN: arn, TOREN_TIMER_QUEUE_ARN: arn })
    .transform((v) => ({
      group: v.TOREN_SCHEDULE_GROUP,
      roleArn: v.TOREN_TIMER_ROLE_ARN,
      queueArn: v.TOREN_TIMER_QUEUE_ARN,
    })),
  /** Files above 4 MiB. */
  files: z.object({ TOREN_FILES_BUCKET: text }).transform((v) => ({ bucket: v.TOREN_FILES_BUCKET })),
  /** One JSON object: providers' keys, and what agents list under `env`, by the names of environment variables. */
  secrets: z.object({ TOREN_SECRET_ARN: arn }).transform((v) => ({ arn: v.TOREN_SECRET_ARN })),
  /** Set: payloads are encrypted with the keys in that object's TOREN_ENCRYPTION_KEYS, and a function without them does nothing. */
  encryption: z.object({ TOREN_ENCRYPTION: z.literal("on") }).transform((v) => v.TOREN_ENCRYPTION === "on"),
  /** The installation's first API key. CloudFormation makes 32 letters and digits; migrate writes the whole key back, so it needs Get and Put. */
  apiKey: z.object({ TOREN_API_KEY_SECRET_ARN: arn }).transform((v) => ({ arn: v.TOREN_API_KEY_SECRET_ARN })),
  /** How to start a worker for what is too long for Lambda. Subnets apart by commas. */
  longTasks: z
    .object({
      TOREN_ECS_CLUSTER: text,
      TOREN_LONG_TASK_DEFINITION: text,
      TOREN_LONG_TASK_SUBNETS: list,
      TOREN_LONG_TASK_SECURITY_GROUP: text,
      TOREN_LONG_TASKS_MAX: z.coerce.number().int().min(1).max(1_000),
    })
    .transform((v) => ({
      cluster: v.TOREN_ECS_CLUSTER,
      taskDefinition: v.TOREN_LONG_TASK_DEFINITION,
      subnets: v.TOREN_LONG_TASK_SUBNETS,
      securityGroup: v.TOREN_LONG_TASK_SECURITY_GROUP,
      max: v.TOREN_LONG_TASKS_MAX,
    })),
  /** `none`: nobody takes the queue of long tasks. */
  longLane: z
    .object({ TOREN_LONG_LANE: z.enum(["none"]).optional() })
    .transform((v) => v.TOREN_LONG_LANE === undefined),
  /** What migrate answered with: changes whenever code does, so that functions are replaced after it ran. For logs. */
  generation: z.object({ TOREN_GENERATION: text }).transform((v) => v.TOREN_GENERATION),
  /** Of a worker for long tasks: the queues that it takes from, names apart by commas, and whether it ends by itself when it finds nothing to do. */
  work: z
    .object({
      TOREN_WORK_QUEUES: list.pipe(z.array(z.enum(QUEUE_NAMES)).min(1)).default(["tasks-long"]),
      TOREN_IDLE_EXIT: z.enum(["true", "false"]).default("true"),
    })
    .transform((v) => ({ queues: v.TOREN_WORK_QUEUES, idleExit: v.TOREN_IDLE_EXIT === "true" })),
  /** As on a laptop: for tests. */
  lease: z
    .object({ TOREN_LEASE_MS: z.coerce.number().int().min(1_500).max(600_000).default(LEASE_MS) })
    .transform((v) => v.TOREN_LEASE_MS),
} as const;

/** RDS with IAM tokens: no password anywhere. AWS_REGION is set by Lambda and by Fargate. */
const rds = z
  .object({
    TOREN_DB_HOST: text,
    TOREN_DB_PORT: z.coerce.number().int().min(1).max(65_535).default(5_432),
    TOREN_DB_NAME: text,
    TOREN_DB_USER: text,
    AWS_REGION: text,
  })
  .transform((v) => ({
    host: v.TOREN_DB_HOST,
    port: v.TOREN_DB_PORT,
    name: v.TOREN_DB_NAME,
    user: v.TOREN_DB_USER,
    region: v.AWS_REGION,
  }));
/** Where there is no RDS: an emulator, or a Postgres of the user's. */
const byUrl = z.object({ DATABASE_URL: text }).transform((v) => ({ url: v.DATABASE_URL }));

/** Of RDS, for migrate alone: the secret of the master user, with whom it makes the functions' own users. */
const master = z
  .object({ TOREN_DB_MASTER_SECRET_ARN: arn })
  .transform((v) => ({ secretArn: v.TOREN_DB_MASTER_SECRET_ARN }));

export type AwsEnvironment = { readonly [G in keyof typeof GROUPS]: z.output<(typeof GROUPS)[G]> };
export type Environment = Readonly<Record<string, string | undefined>>;
export type DatabasePlace = z.output<typeof rds> | z.output<typeof byUrl>;

/** A part of the environment. @throws TorenError `environment.incomplete`, which names every variable that is missing or wrong. */
export function required<G extends keyof AwsEnvironment>(env: Environment, group: G): AwsEnvironment[G] {
  return read(GROUPS[group], env) as AwsEnvironment[G];
}

/** Null when none of its variables is set: an installation without it. @throws TorenError `environment.incomplete` for a half of it. */
export function optional<G extends keyof AwsEnvironment>(env: Environment, group: G): AwsEnvironment[G] | null {
  const names = Object.keys(GROUPS[group].in.shape);
  return names.every((name) => !env[name]) ? null : required(env, group);
}

export const databasePlace = (env: Environment): DatabasePlace => read(env.DATABASE_URL ? byUrl : rds, env);

/** Null with a database by its URL: its user makes what it needs. */
export const masterPlace = (env: Environment): z.output<typeof master> | null =>
  env.DATABASE_URL ? null : read(master, env);

/** An empty variable is one that isn't set. */
function read<T extends z.ZodType>(schema: T, env: Environment): z.output<T> {
  const parsed = schema.safeParse(Object.fromEntries(Object.entries(env).filter(([, value]) => value !== "")));
  if (parsed.success) return parsed.data;
  const of = (what: (name: string) => boolean): string[] => [
    ...new Set(parsed.error.issues.map((issue) => String(issue.path[0])).filter(what)),
  ];
  const missing = of((name) => !env[name]);
  const wrong = of((name) => Boolean(env[name])).map(
    (name) => `${name} (${parsed.error.issues.find((issue) => issue.path[0] === name)?.message ?? "wrong"})`,
  );
  const parts = [
    ...(missing.length > 0 ? [`missing: ${missing.join(", ")}`] : []),
    ...(wrong.length > 0 ? [`wrong: ${wrong.join(", ")}`] : []),
  ];
  const say = `The function's environment is not what it needs; ${parts.join("; ")}. The stack sets it: deploy it again.`;
  throw new TorenError("environment.incomplete", say);
}

/*
 * What the stack and the functions agree on beside variables. Proposed by the stack; where a function does otherwise, say so here.
 *
 * migrate: the custom resource's ServiceToken is the function itself, so it answers to ResponseURL. ResourceProperties, all text as CloudFormation sends
 *   it: `Code` (a hash of all bundles: changes whenever code does) and `Users` (an object: each function's database user, and its connection limit); `Database` and `KeyRelease`
 *   only have it called.
 *   Its answer: PhysicalResourceId "toren-migrate", Data.Generation (text), which becomes TOREN_GENERATION.
 *   It asks for groups: database, master, apiKey. Of the secret of the API key it needs Get and Put: CloudFormation generates 32 letters and digits there
 *   (no punctuation), as the whole text; migrate makes the key of it and writes that back.
 * users: toren_tick, toren_task, toren_guardian, toren_dead_letter, toren_api, toren_events, toren_long_task.
 * certificates: the build writes `certificates/<region>.pem` beside each index.mjs, for every region (some 4 KB each): read the one of AWS_REGION by
 *   new URL(`certificates/${region}.pem`, import.meta.url). One template then fits all regions.
 * long-task: TOREN_WORK_QUEUES, names apart by commas, says which queues it takes from: `tasks-long`, with `workers: fargate` `tasks-short,tasks-long`;
 *   TOREN_IDLE_EXIT is `false` where an ECS service keeps the worker (workers: fargate), else it ends after LONG_IDLE_MS. It gets the groups that task gets.
 *   TOREN_LONG_TASK_DEFINITION is the family: the newest revision is meant. The container's name is `worker`. No public address is needed.
 * groups: tick, task, long-task, api, events, guardian: database, queues, pulse, timers, files, secrets, generation, longTasks where there is a VPC, and
 *   encryption where the option is set.
 *   dead-letter: database, queues, generation. TOREN_LONG_LANE is `none` where there are no workers for long tasks, started or kept.
 * workers for long tasks: tick, task, api and guardian need ecs:RunTask, ecs:ListTasks and ecs:DescribeTasks; the guardian sqs:GetQueueAttributes of
 *   tasks-long. Tasks are known by startedBy "toren".
 * pulse: the guardian's event source has batch size 1.
 * log: one JSON object a line, with `message` at the top. The stack counts lines: `dead letter` (one a letter), and of the guardian's pass
 *   `guardian pass` with `oldestReadyMs`, a number (0: nothing is ready).
 * api, events: routes `ANY /` and `ANY /{proxy+}` go to api, `GET /runs/{runId}/events` goes to events, in STREAM mode: pages and event streams alike.
 */
