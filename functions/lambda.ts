// What every deployed function's invocation begins and ends with, around its handler.
import { monitorEventLoopDelay } from "node:perf_hooks";
import type { Context } from "aws-lambda";
import type { PoolSizes } from "../shared/adapters/database/pools.ts";
import { EVENT_LOOP_DELAY_MS } from "../shared/core/limits.ts";
import { flushSpans, sdkProblem } from "../shared/engine/telemetry.ts";
import type { Log } from "../shared/ports/log.ts";
import { type Aws, composeAws, sleep } from "./aws.ts";
import type { Environment } from "./aws-environment.ts";
import { failureFields } from "./failures.ts";
import { createJsonLog } from "./log.ts";
import { guardRejections } from "./rejections.ts";
import { startWatchdog } from "./watchdog.ts";

export type Handle<E, A> = (event: E, context: Context) => Promise<A>;

export interface Deployed<E, A> {
  readonly name: string;
  /** Its handler over the composition, made once a process. */
  make(aws: Aws, log: Log): Handle<E, A>;
  /** It may take leases: then the pulse goes while it works. */
  readonly leases?: boolean;
  /** To the database, at most. Default: those of a function that works on many things at once. */
  readonly connections?: PoolSizes;
  /** When the composition fails, as it does while the database is away. Default: the invocation fails. */
  unready?(at: Unready<E>): Promise<A>;
}

export interface Unready<E> {
  readonly thrown: unknown;
  readonly event: E;
  readonly context: Context;
  readonly env: Environment;
  readonly log: Log;
}

/** The function's handler. Nothing is composed before the first invocation, and what failed is composed anew at the next. */
export function lambda<E, A>(deployed: Deployed<E, A>, env: Environment = process.env): Handle<E, A> {
  const log = createJsonLog({ function: deployed.name });
  let ready: Promise<{ aws: Aws; handle: Handle<E, A> }> | undefined;
  const compose = (): NonNullable<typeof ready> => {
    ready ??= begin(deployed, env, log).catch((e) => {
      ready = undefined;
      throw e;
    });
    return ready;
  };
  return async (event, context) => {
    let composed: { aws: Aws; handle: Handle<E, A> };
    try {
      composed = await compose();
    } catch (e) {
      log.error("not ready", { requestId: context.awsRequestId, ...failureFields(e) });
      if (deployed.unready === undefined) throw e;
      return await deployed.unready({ thrown: e, event, context, env, log });
    }
    return await invoke(deployed, composed.aws, log, () => composed.handle(event, context));
  };
}

async function begin<E, A>(deployed: Deployed<E, A>, env: Environment, log: Log) {
  guardRejections(log);
  const problem = sdkProblem();
  if (problem !== null) log.warn(problem);
  const aws = await composeAws(env, log, deployed.connections);
  if (deployed.leases === true) startWatchdog(aws.engine.leaseMs);
  return { aws, handle: deployed.make(aws, log) };
}

/** Before the handler returns, and its process may freeze: leases are let go of, spans are sent, and nothing that was begun is still under way. */
async function invoke<A>(deployed: Deployed<never, A>, aws: Aws, log: Log, work: () => Promise<A>): Promise<A> {
  await aws.refresh();
  const delay = monitorEventLoopDelay();
  delay.enable();
  const pulse = deployed.leases === true ? aws.startPulse() : Promise.resolve();
  try {
    return await work();
  } finally {
    await Promise.all([pulse, flushSpans(sleep), aws.engine.live.rest()]);
    delay.disable();
    const ms = Math.round(delay.max / 1e6);
    if (ms > EVENT_LOOP_DELAY_MS) log.warn("event loop stood still", { ms });
    if (aws.engine.keeper.size > 0) log.error("leases left behind", { streams: aws.engine.keeper.size });
  }
}
