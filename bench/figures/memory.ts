// One worker process with 64 long tasks at once, and the most memory that it ever had.
import { startRun } from "../../shared/engine/start-run.ts";
import { instant, job } from "../agents.ts";
import type { BenchDatabase } from "../database.ts";
import { AGENT } from "../ground.ts";
import { type Measure, measures, type Statistics, timed } from "../measure.ts";
import type { Told } from "../memory-worker.ts";
import { createEngine } from "../stack.ts";
import { startWorker } from "../worker-process.ts";

/**
 * A worker of a fleet has a bound. Left to itself V8 collects late where the machine has much memory: on one of 24 GB the young generation alone grows to
 * 134 MB, and the same work takes some 400 MB of which 104 are in use.
 */
const FLAGS = ["--max-old-space-size=256", "--max-semi-space-size=8"];

export async function measureMemory(
  bench: BenchDatabase,
  statistics: Statistics,
  { tasks, steps }: { readonly tasks: number; readonly steps: number },
): Promise<Measure[]> {
  const database = await bench.open();
  const engine = createEngine(database, [AGENT], instant());
  const worker = startWorker<Told>("memory-worker.ts", tasks, bench.url, FLAGS);
  try {
    const idle = await worker.told();
    let peak = idle;
    const ms = await timed(async () => {
      const done = worker.told(); // listens before the first can be done
      for (let i = 0; i < tasks; i++) await startRun(engine.deps, { agent: AGENT, input: job(steps) });
      peak = await done;
    });
    const measure = measures("memory", statistics);
    const work = `${tasks} tasks of ${steps.toLocaleString("en")} steps`;
    return [
      measure("a worker that waits, resident", idle.residentMb, "MB"),
      measure(`${work}, heap after a collection`, peak.heapMb, "MB"),
      measure(`${work}, peak resident`, peak.peakMb, "MB", { target: { atMost: 300 } }),
      measure(`steps of ${work}`, (tasks * steps * 1_000) / ms, "/s"),
    ];
  } finally {
    worker.kill();
    await engine.close();
    await database.close();
  }
}
