// Workers for long tasks as single Fargate tasks: each ends by itself when it finds nothing to do, so there is no service, and nothing to pay while idle.
import { createHash } from "node:crypto";
import { messageOf } from "../../core/errors.ts";
import { LONG_TASKS_PER_WORKER } from "../../core/limits.ts";
import type { Log } from "../../ports/log.ts";
import type { LongWorkers } from "../../ports/runtime.ts";

export interface EcsOptions {
  readonly cluster: string;
  readonly taskDefinition: string;
  readonly subnets: readonly string[];
  readonly securityGroup: string;
  /** Workers at once. */
  readonly max: number;
  readonly log: Log;
}

/** Starts of the same worker within this time are one: many send long tasks at once. */
const SAME_START_MS = 60_000;
const STARTED_BY = "toren";

export function createEcsWorkers(options: EcsOptions): LongWorkers {
  const { cluster, taskDefinition, subnets, securityGroup, max, log } = options;
  let loaded: ReturnType<typeof load> | undefined;
  const ensure = async (waiting: number): Promise<void> => {
    loaded ??= load();
    const { sdk, client } = await loaded;
    const listed = await client.send(
      new sdk.ListTasksCommand({ cluster, startedBy: STARTED_BY, desiredStatus: "RUNNING" }),
    );
    const there = listed.taskArns?.length ?? 0;
    const wanted = Math.min(max, Math.ceil(waiting / LONG_TASKS_PER_WORKER));
    if (there >= wanted) return;
    const started = await client.send(
      new sdk.RunTaskCommand({
        cluster,
        taskDefinition,
        launchType: "FARGATE",
        count: 1,
        startedBy: STARTED_BY,
        clientToken: tokenOf(taskDefinition, there),
        networkConfiguration: {
          awsvpcConfiguration: { subnets: [...subnets], securityGroups: [securityGroup], assignPublicIp: "DISABLED" },
        },
      }),
    );
    const failure = started.failures?.[0];
    if (failure !== undefined)
      log.error("no worker for long tasks", { reason: failure.reason, detail: failure.detail });
    else log.info("worker for long tasks started", { waiting, there });
  };
  return {
    ensure: async (waiting) => {
      try {
        await ensure(waiting);
      } catch (e) {
        log.error("no worker for long tasks", { error: messageOf(e) }); // the guardian tries again
      }
    },
  };
}

async function load() {
  const sdk = await import("@aws-sdk/client-ecs");
  return { sdk, client: new sdk.ECSClient({}) };
}

/** RunTask with a token that it has seen answers with the task of then. */
function tokenOf(taskDefinition: string, there: number): string {
  const minute = Math.floor(Date.now() / SAME_START_MS);
  return createHash("sha256")
    .update(JSON.stringify([taskDefinition, there, minute]))
    .digest("hex")
    .slice(0, 64);
}
