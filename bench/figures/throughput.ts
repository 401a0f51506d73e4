// 64 runs through the whole engine, with a model that answers at once, beside bare prepared inserts on eight connections: what group commit is for.
import { job } from "../agents.ts";
import { BATCH_ROWS } from "../bare.ts";
import { AGENT } from "../ground.ts";
import type { Half } from "../half.ts";
import { type Measure, measures, median, ratioOf, type Statistics, timed } from "../measure.ts";
import type { Stack } from "../stack.ts";

/** Of the worker's tasks as many as it takes at once. */
const RUNS = 64;

export interface ThroughputSizes {
  readonly steps: number;
  readonly rounds: number;
}

export async function measureThroughput(
  { stack, bare, batched }: Half,
  statistics: Statistics,
  { steps, rounds }: ThroughputSizes,
): Promise<Measure[]> {
  const rates = { engine: [] as number[], bare: [] as number[], batched: [] as number[] };
  for (let round = 0; round < rounds; round++) {
    const { appends, ms } = await stack.work(() => engineRound(stack, steps));
    rates.engine.push((appends / ms) * 1_000);
    // As many inserts as the engine made appends: both pay for checkpoints and caches alike.
    const each = Math.ceil(appends / bare.length);
    const bareMs = await timed(() => Promise.all(bare.map((insert) => repeat(insert, each))));
    rates.bare.push(((each * bare.length) / bareMs) * 1_000);
    const batches = Math.ceil(appends / BATCH_ROWS / batched.length);
    const batchMs = await timed(() => Promise.all(batched.map((insert) => repeat(insert, batches))));
    rates.batched.push(((batches * batched.length * BATCH_ROWS) / batchMs) * 1_000);
  }
  const measure = measures("throughput", statistics);
  const { value, spread } = ratioOf(rates.engine, rates.bare, rounds);
  return [
    measure(`bare inserts on ${bare.length} connections`, median(rates.bare), "/s"),
    measure(`rows of batched inserts, ${BATCH_ROWS} a statement`, median(rates.batched), "/s"),
    measure(`appends of ${RUNS} runs, whole engine`, median(rates.engine), "/s"),
    measure("appends : bare inserts", value, "×", { target: { atLeast: 1.2 }, spread }),
  ];
}

/** From the first start to the last end, planning and settling included. */
export async function engineRound(stack: Stack, steps: number): Promise<{ appends: number; ms: number }> {
  const before = stack.appends();
  const ms = await timed(() =>
    Promise.all(
      Array.from({ length: RUNS }, async () => {
        const runId = await stack.start(AGENT, job(steps));
        await stack.ended(runId);
      }),
    ),
  );
  return { appends: stack.appends() - before, ms };
}

async function repeat(work: () => Promise<unknown>, times: number): Promise<void> {
  for (let i = 0; i < times; i++) await work();
}
