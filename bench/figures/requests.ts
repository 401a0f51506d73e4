// Runs that are started over HTTP at an even pace, and a reader that waits for events, both beside a worker that is busy: through the routes, to the whole answer.
import { setTimeout as wait } from "node:timers/promises";
import { createNotices } from "../../shared/adapters/database/notices.ts";
import { createLiveIn } from "../../shared/adapters/live/postgres.ts";
import { startRun } from "../../shared/engine/start-run.ts";
import { withEventStreams } from "../../shared/http/event-streams.ts";
import { instant, job } from "../agents.ts";
import { appOver } from "../api.ts";
import type { BenchDatabase } from "../database.ts";
import { BUSY, forgetHints } from "../ground.ts";
import { type Measure, measures, median, percentile, type Statistics } from "../measure.ts";
import { createEngine, log } from "../stack.ts";
import { startWorker } from "../worker-process.ts";

export interface RequestSizes {
  /** That the worker is busy with; their steps never end. */
  readonly tasks: number;
  readonly posts: number;
}

/** A hundred a second. */
const EVERY_MS = 10;
/** Before what is measured: connections, prepared statements, compiled code. */
const WARM_UPS = 50;
/** At least; a second of such a task is some forty. */
const EVENTS = 20;
const ENDLESS = 1_000_000;

type Route = (path: string, init: RequestInit) => Response | Promise<Response>;

export async function measureRequests(
  bench: BenchDatabase,
  statistics: Statistics,
  { tasks, posts }: RequestSizes,
): Promise<Measure[]> {
  const database = await bench.open();
  const engine = createEngine(database, [BUSY], instant());
  const notices = createNotices(database, log);
  const live = createLiveIn({ database, notices });
  const { app, headers } = appOver(engine.deps, database, ["read", "run"], live);
  const streams = withEventStreams(app, { live });
  const worker = startWorker<"ready">("busy-worker.ts", tasks + 64, bench.url); // has room for the runs that are started
  const leaving = new AbortController();
  try {
    await worker.told();
    let watched = "";
    for (let i = 0; i < tasks; i++) {
      const started = await startRun(engine.deps, { agent: BUSY, input: job(ENDLESS) });
      if (started.type === "refused") throw new Error(started.error.message);
      watched = started.runId;
    }
    const begun = Promise.withResolvers<void>();
    let enough = Promise.withResolvers<void>();
    let latencies: number[] = [];
    const reading = follow(
      (path, init) => streams.request(path, init),
      watched,
      headers,
      leaving.signal,
      (ms) => {
        begun.resolve();
        if (latencies.push(ms) >= EVENTS) enough.resolve();
      },
    );
    await Promise.race([begun.promise, reading]);
    const post = () => startOne((path, init) => app.request(path, init), headers);
    await atAPace(WARM_UPS, post);
    [latencies, enough] = [[], Promise.withResolvers()];
    const taken = await atAPace(posts, post);
    await Promise.race([enough.promise, reading]);
    leaving.abort();
    await reading;
    const measure = measures("requests", statistics);
    return [
      measure("POST /runs, 100 a second, median", median(taken), "ms"),
      measure("POST /runs, 100 a second, p95", percentile(taken, 95), "ms", { target: { atMost: 10 } }),
      measure("an event until its reader has it, median", median(latencies), "ms"),
      measure("an event until its reader has it, p95", percentile(latencies, 95), "ms", { target: { atMost: 50 } }),
    ];
  } finally {
    leaving.abort();
    worker.kill();
    await Promise.all([live.close(), engine.close()]);
    await notices.close();
    await forgetHints(database.pool);
    await database.close();
  }
}

/** Whoever is late holds up nobody: each is sent at its time, and counted from then. */
async function atAPace(times: number, work: () => Promise<void>): Promise<number[]> {
  const start = performance.now();
  return await Promise.all(
    Array.from({ length: times }, async (_, i) => {
      const due = start + i * EVERY_MS;
      await wait(Math.max(0, due - performance.now()));
      await work();
      return performance.now() - due;
    }),
  );
}

async function startOne(route: Route, headers: Record<string, string>): Promise<void> {
  const body = JSON.stringify({ agent: BUSY, input: job(0) });
  const response = await route("/runs", {
    method: "POST",
    headers: { ...headers, "content-type": "application/json" },
    body,
  });
  const text = await response.text();
  if (response.status !== 201 && response.status !== 202) throw new Error(`POST /runs: ${response.status} ${text}`);
}

/** `arrived` hears how old each event is when it comes: by the database's clock, which is this machine's. */
async function follow(
  route: Route,
  runId: string,
  headers: Record<string, string>,
  signal: AbortSignal,
  arrived: (ms: number) => void,
): Promise<void> {
  const accept = "text/event-stream";
  const response = await route(`/runs/${runId}/events`, { headers: { ...headers, accept }, signal });
  if (!response.ok || response.body === null) throw new Error(`events: ${response.status} ${await response.text()}`);
  let kept = "";
  for await (const text of response.body.pipeThrough(new TextDecoderStream())) {
    const events = `${kept}${text}`.split("\n\n");
    kept = events.pop() ?? "";
    for (const event of events) {
      const recordedAt = /"recordedAt":"([^"]+)"/.exec(event)?.[1];
      if (recordedAt !== undefined) arrived(Date.now() - Date.parse(recordedAt));
    }
    if (signal.aborted) return;
  }
}
