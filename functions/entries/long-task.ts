// The main program of a worker for long tasks: on Fargate, or wherever else the function's environment is set.
import { flushSpans, sdkProblem } from "../../shared/engine/telemetry.ts";
import { composeAws, sleep } from "../aws.ts";
import { required } from "../aws-environment.ts";
import { failureFields } from "../failures.ts";
import { createJsonLog } from "../log.ts";
import { workLong } from "../long-task.ts";
import { guardRejections } from "../rejections.ts";
import { taskConsumer } from "../task.ts";
import { startWatchdog } from "../watchdog.ts";

const log = createJsonLog({ function: "long-task" });

async function main(): Promise<void> {
  guardRejections(log);
  const problem = sdkProblem();
  if (problem !== null) log.warn(problem);
  const asked = new AbortController();
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => asked.abort());
  const { queues, idleExit } = required(process.env, "work");
  const aws = await composeAws(process.env, log);
  await aws.refresh();
  const watchdog = startWatchdog(aws.engine.leaseMs);
  const stop = new AbortController();
  const consumer = taskConsumer({ engine: aws.engine, stop: stop.signal });
  const pulse = setInterval(() => void aws.startPulse(), aws.engine.leaseMs / 3);
  await aws.startPulse();
  await workLong({
    consumer,
    queues,
    log,
    sleep,
    asked: asked.signal,
    letGo: () => stop.abort(),
    isOutdated: async () => {
      const newest = await aws.deployments.newest();
      return aws.agents.names().some((name) => (newest.get(name) ?? 0) > (aws.agents.get(name)?.generation ?? 0));
    },
    ...(idleExit ? {} : { idleMs: null }),
  });
  clearInterval(pulse);
  await watchdog.stop();
  await flushSpans(sleep);
  await aws.close();
}

try {
  await main();
} catch (e) {
  log.error("worker failed", failureFields(e));
  process.exitCode = 1;
}
