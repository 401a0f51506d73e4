// A wave of a thousand tasks costs ten times one of a hundred, and the run ticks as often: to plan it, and when its last task has settled.
import { WAVE } from "../agents.ts";
import { AGENT } from "../ground.ts";
import type { Half } from "../half.ts";
import { type Measure, measures, median, type Statistics, spreadOf, timed } from "../measure.ts";

export interface WaveSizes {
  /** Tasks of the waves; ascending. The first is the yardstick. */
  readonly tasks: readonly number[];
  readonly rounds: number;
}

export async function measureWave(
  { stack }: Half,
  statistics: Statistics,
  { tasks, rounds }: WaveSizes,
): Promise<Measure[]> {
  const measure = measures("wave", statistics);
  const perTask: number[][] = tasks.map(() => []);
  let most = 0;
  await stack.work(async () => {
    for (let round = 0; round < rounds; round++) {
      for (const [i, n] of tasks.entries()) {
        const ms = await timed(async () => {
          most = Math.max(most, await stack.ended(await stack.start(AGENT, { tasks: n }, WAVE)));
        });
        perTask[i]?.push(ms / n);
      }
    }
  });
  const [first = [], last = []] = [perTask[0], perTask.at(-1)];
  const name = (n: number | undefined): string => (n ?? 0).toLocaleString("en");
  return [
    ...tasks.map((n, i) => measure(`per task, wave of ${name(n)}`, median(perTask[i] ?? []), "ms")),
    measure(`per task, ${name(tasks.at(-1))} : ${name(tasks[0])}`, median(last) / median(first), "×", {
      target: { atMost: 1.2 },
      spread: spreadOf(last.map((ms, i) => ms / (first[i] ?? Number.NaN))),
    }),
    measure(`ticks of a wave of ${name(tasks.at(-1))}, at most`, most, "ticks", { target: { atMost: 3 } }),
  ];
}
