// Long tasks: what a resume costs by the length of its log, what a live step costs late in a task and early in one, and how much a step stores.
import type { Half } from "../half.ts";
import { bytesPerStep, createLongTask, type LongTask } from "../long-task.ts";
import { type Measure, measures, median, ratioOf, type Statistics } from "../measure.ts";

export interface ResumeSizes {
  /** Of the logs; ascending. The first is the yardstick. */
  readonly steps: readonly number[];
  readonly resumes: number;
  /** Live steps of either task. */
  readonly live: number;
}

export async function measureResume(
  { database }: Half,
  statistics: Statistics,
  { steps, resumes, live }: ResumeSizes,
): Promise<Measure[]> {
  const lengths = new Set([0, 10, ...steps]);
  const tasks = new Map<number, LongTask>();
  for (const length of lengths) tasks.set(length, await createLongTask(database, length));
  const task = (length: number): LongTask => tasks.get(length) as LongTask;
  const longest = task(steps.at(-1) ?? 0);
  const found = [
    ...(await measureResumes(statistics, [task(0), ...steps.map(task)], steps, resumes)),
    ...(await measureSteps(statistics, task(10), longest, live)),
    ...(await measureBytes(statistics, database, task(10), longest, Math.min(live, 50))),
  ];
  for (const each of tasks.values()) await each.close();
  return found;
}

/** Milliseconds of so many resumes; each adds a step to the log. */
async function resumed(task: LongTask, times: number): Promise<number[]> {
  const taken: number[] = [];
  for (let i = 0; i < times; i++) {
    taken.push(await task.resume());
    await task.release();
  }
  return taken;
}

/** What a resume costs beyond that of an empty log is the log's: flat per step, or something in it grows faster than the log. */
async function measureResumes(
  statistics: Statistics,
  tasks: readonly LongTask[],
  steps: readonly number[],
  times: number,
): Promise<Measure[]> {
  const measure = measures("resume", statistics);
  const all: number[][] = tasks.map(() => []);
  for (let i = 0; i < times; i++) for (const [t, task] of tasks.entries()) all[t]?.push(...(await resumed(task, 1))); // interleaved
  const [empty = 0, ...long] = all.map(median);
  const perStep = long.map((ms, i) => ((ms - empty) / (steps[i] ?? 1)) * 1_000);
  const longest = steps.at(-1) ?? 0;
  const name = (n: number): string => n.toLocaleString("en");
  return [
    measure("resume of an empty log", empty, "ms"),
    ...steps.map((n, i) => measure(`per step, ${name(n)} steps`, perStep[i] ?? Number.NaN, "µs")),
    measure(`resume of ${name(longest)} steps`, long.at(-1) ?? Number.NaN, "ms", { target: { atMost: 1_000 } }),
    ...steps.slice(1).map((n, i) =>
      measure(`per step, ${name(n)} : ${name(steps[0] ?? 0)}`, (perStep[i + 1] ?? 0) / (perStep[0] ?? 0), "×", {
        target: { atMost: 1.2 },
      }),
    ),
  ];
}

async function measureSteps(
  statistics: Statistics,
  early: LongTask,
  late: LongTask,
  times: number,
): Promise<Measure[]> {
  const measure = measures("live step", statistics);
  const at = late.steps;
  await early.resume();
  await late.resume();
  const [early_, late_]: [number[], number[]] = [[], []];
  for (let i = -5; i < times; i++) {
    const [a, b] = [await early.step(), await late.step()];
    if (i < 0) continue; // the first ones after a resume warm up
    early_.push(a);
    late_.push(b);
  }
  await early.release();
  await late.release();
  const { value, spread } = ratioOf(late_, early_);
  const place = (Math.round(at / 10) * 10).toLocaleString("en");
  return [
    measure("a live step at 10", median(early_), "ms"),
    measure(`a live step at ${place}`, median(late_), "ms"),
    measure(`a live step, ${place} : 10`, value, "×", { target: { atMost: 1.2 }, spread }),
  ];
}

async function measureBytes(
  statistics: Statistics,
  database: Parameters<typeof bytesPerStep>[0],
  early: LongTask,
  late: LongTask,
  steps: number,
): Promise<Measure[]> {
  const measure = measures("stored", statistics);
  const [few, many] = [await bytesPerStep(database, early, steps), await bytesPerStep(database, late, steps)];
  return [
    measure("stored per step at 10", few, "bytes"),
    measure("stored per step, late", many, "bytes"),
    measure("stored per step, late : early", many / few, "×", { target: { atMost: 1.2 } }),
  ];
}
