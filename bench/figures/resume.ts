// Long tasks: what a resume costs by the length of its log, what a live step costs late in a task and early in one, and how much a step stores.
import type { Half } from "../half.ts";
import { bytesPerStep, createLongTask, type LongTask } from "../long-task.ts";
import { type Measure, measures, median, ratioOf, type Statistics, spreadOf } from "../measure.ts";

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

/** Short logs are resumed more often: their times are small, and noise isn't. */
const SHORT_MORE = 5;

/**
 * The cost per step is the slope between a log of next to no steps and one of n: flat, or something in a resume grows faster than the log. It is CPU time of
 * this process, so that what else the machine does counts little.
 */
async function measureResumes(
  statistics: Statistics,
  tasks: readonly LongTask[],
  steps: readonly number[],
  times: number,
): Promise<Measure[]> {
  const resumes: Resume[][] = tasks.map(() => []);
  for (let i = 0; i < times; i++) {
    for (const [t, task] of tasks.entries()) {
      const often = t === tasks.length - 1 ? 1 : SHORT_MORE;
      for (let k = 0; k < often; k++) resumes[t]?.push(await resumed(task));
    }
  }
  const [none = [], ...long] = resumes;
  const of = (all: readonly Resume[], what: keyof Resume): number => median(all.map((one) => one[what]));
  const perStep = long.map(
    (all) => (1_000 * (of(all, "cpuMs") - of(none, "cpuMs"))) / (of(all, "steps") - of(none, "steps")),
  );
  const measure = measures("resume", statistics);
  const name = (n: number | undefined): string => (n ?? 0).toLocaleString("en");
  const longest = long.at(-1) ?? [];
  return [
    measure("resume of an empty log", of(none, "ms"), "ms"),
    measure(`resume of ${name(steps.at(-1))} steps`, of(longest, "ms"), "ms", {
      target: { atMost: 1_000 },
      spread: spreadOf(longest.map((one) => one.ms)),
    }),
    measure(`of it CPU of the worker`, of(longest, "cpuMs"), "ms"),
    ...steps.map((n, i) => measure(`CPU per step, ${name(n)} steps`, perStep[i] ?? Number.NaN, "µs")),
    ...steps.slice(1).map((n, i) =>
      measure(`CPU per step, ${name(n)} : ${name(steps[0])}`, (perStep[i + 1] ?? 0) / (perStep[0] ?? 0), "×", {
        target: { atMost: 1.2 },
      }),
    ),
  ];
}

interface Resume {
  readonly ms: number;
  readonly cpuMs: number;
  /** On record before it. */
  readonly steps: number;
}

/** Each adds a step to the log. */
async function resumed(task: LongTask): Promise<Resume> {
  const { steps } = task;
  const taken = await task.resume();
  await task.release();
  return { ...taken, steps };
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
