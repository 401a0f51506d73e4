// From starting a run to the first question to its model, by an idle worker: two hints, two wake-ups, a tick and the beginning of a task.
import { randomUUID } from "node:crypto";
import { job } from "../agents.ts";
import { AGENT } from "../ground.ts";
import type { Half } from "../half.ts";
import { type Measure, measures, median, type Statistics, spreadOf, timed } from "../measure.ts";
import type { Stack } from "../stack.ts";

export async function measureStart({ stack, bare }: Half, statistics: Statistics, times: number): Promise<Measure[]> {
  const measure = measures("start", statistics);
  const [starts, inserts]: [number[], number[]] = [[], []];
  await stack.work(async () => {
    for (let i = -3; i < times; i++) {
      const start = await startOnce(stack);
      const insert = await timed(bare[0] ?? (async () => {}));
      if (i < 0) continue; // the pump has just begun
      starts.push(start);
      inserts.push(insert);
    }
  });
  const size = Math.ceil(starts.length / 5);
  const parts = [0, 1, 2, 3, 4].map((i) => starts.slice(i * size, (i + 1) * size)).filter((part) => part.length > 0);
  return [
    measure("a bare insert of one row", median(inserts), "ms"),
    measure("start to first model call", median(starts), "ms", {
      target: { atMost: 15 },
      spread: spreadOf(parts.map(median)),
    }),
    measure("start to first model call : bare insert", median(starts) / median(inserts), "×"),
  ];
}

/** Milliseconds; the run has ended, and the worker is idle again, when it resolves. */
async function startOnce(stack: Stack): Promise<number> {
  const tag = randomUUID();
  const call = Promise.withResolvers<number>();
  const begun = performance.now();
  stack.asked.set(tag, () => call.resolve(performance.now() - begun));
  const runId = await stack.start(AGENT, job(0, tag));
  await stack.ended(runId);
  stack.asked.delete(tag);
  return await call.promise;
}
