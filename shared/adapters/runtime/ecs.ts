// Workers for long tasks as single Fargate tasks: each ends by itself when it finds nothing to do, so there is no service, and nothing to pay while idle.
import { createHash } from "node:crypto";
import type { ECSClient } from "@aws-sdk/client-ecs";
import { messageOf } from "../../core/errors.ts";
import { LONG_TASKS_PER_WORKER, LONG_WORKER_SAME_START_MS, LONG_WORKERS_START_MAX } from "../../core/limits.ts";
import type { Log } from "../../ports/log.ts";
import type { LongWorkers } from "../../ports/runtime.ts";
import { CALLS } from "../aws/calls.ts";

export interface EcsOptions {
  readonly cluster: string;
  /** The family: its newest revision is meant. */
  readonly taskDefinition: string;
  readonly subnets: readonly string[];
  readonly securityGroup: string;
  /** Workers at once. */
  readonly max: number;
  readonly log: Log;
}

/** By it workers are known, whoever started them. */
const STARTED_BY = "toren";

export function createEcsWorkers(options: EcsOptions): LongWorkers {
  const { max, log } = options;
  let loaded: ReturnType<typeof load> | undefined;
  /** `missing`: how many workers there should be beside those that run, by how many there are. */
  const start = async (missing: (there: There) => number): Promise<void> => {
    try {
      loaded ??= load();
      const aws = await loaded;
      const there = await count(aws, options.cluster);
      const wanted = Math.min(
        missing(there) - there.starting,
        max - there.starting - there.running,
        LONG_WORKERS_START_MAX,
      );
      if (wanted > 0) await run(aws, options, wanted, there);
    } catch (e) {
      log.error("no worker for long tasks", { error: messageOf(e) });
    }
  };
  return {
    first: () => start(({ running }) => (running > 0 ? 0 : 1)),
    more: (waiting) => start(() => Math.ceil(waiting / LONG_TASKS_PER_WORKER)),
  };
}

type Ecs = Awaited<ReturnType<typeof load>>;
interface There {
  readonly starting: number;
  readonly running: number;
}

async function load() {
  const sdk = await import("@aws-sdk/client-ecs");
  const client: ECSClient = new sdk.ECSClient(CALLS);
  return { sdk, client };
}

async function count({ sdk, client }: Ecs, cluster: string): Promise<There> {
  // ECS wants `startedBy` to be the only filter. It leaves out what is to stop by itself.
  const { taskArns = [] } = await client.send(new sdk.ListTasksCommand({ cluster, startedBy: STARTED_BY }));
  if (taskArns.length === 0) return { starting: 0, running: 0 };
  const { tasks = [] } = await client.send(new sdk.DescribeTasksCommand({ cluster, tasks: taskArns }));
  const running = tasks.filter((task) => task.lastStatus === "RUNNING").length;
  return { running, starting: tasks.length - running };
}

async function run({ sdk, client }: Ecs, options: EcsOptions, workers: number, there: There): Promise<void> {
  const { cluster, taskDefinition, subnets, securityGroup, log } = options;
  const started = await client.send(
    new sdk.RunTaskCommand({
      cluster,
      taskDefinition,
      launchType: "FARGATE",
      count: workers,
      startedBy: STARTED_BY,
      clientToken: tokenOf(taskDefinition, workers, there),
      networkConfiguration: {
        awsvpcConfiguration: { subnets: [...subnets], securityGroups: [securityGroup], assignPublicIp: "DISABLED" },
      },
    }),
  );
  const [failure] = started.failures ?? [];
  if (failure === undefined) log.info("workers for long tasks started", { workers, ...there });
  else log.error("no worker for long tasks", { reason: failure.reason, detail: failure.detail });
}

/** RunTask with a token that it has seen answers with the tasks of then. */
function tokenOf(taskDefinition: string, workers: number, { running, starting }: There): string {
  const minute = Math.floor(Date.now() / LONG_WORKER_SAME_START_MS);
  const text = JSON.stringify([taskDefinition, workers, running, starting, minute]);
  return createHash("sha256").update(text).digest("hex").slice(0, 64);
}
