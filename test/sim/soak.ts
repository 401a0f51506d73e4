// Runs many seeds and prints those that fail: `node test/sim/soak.ts [how many] [from]`. One seed in full: `SEED=7 node test/sim/soak.ts`.
// One program alone: `PROGRAM=waves` (`grown`: another for each seed), in one kind of weather: `WEATHER="workers die"`. With a mistake planted in the store's statements: `PLANT=noEpoch` (database.ts lists them).

import { WEATHERS, type Weather } from "./faults.ts";
import { PROGRAMS } from "./programs.ts";
import { randomProgram } from "./random-program.ts";
import { simulate, told } from "./simulate.ts";

const one = process.env.SEED;
const count = one === undefined ? Number(process.argv[2] ?? 200) : 1;
const from = Number(one ?? process.argv[3] ?? 1);
const plants = process.env.PLANT === undefined ? {} : { [process.env.PLANT]: true };
const program = PROGRAMS.find((p) => p.name === process.env.PROGRAM);
const grown = process.env.PROGRAM === "grown";
const weather = Object.keys(WEATHERS).find((w) => w === process.env.WEATHER) as Weather | undefined;
const began = Date.now();
let failures = 0;
let steps = 0;
for (let seed = from; seed < from + count; seed++) {
  const verdict = await simulate(seed, {
    plants,
    ...(grown ? { program: randomProgram(seed) } : program && { program }),
    ...(weather && { weather }),
  });
  steps += verdict.steps;
  if (one !== undefined) tell(verdict);
  if (verdict.wrong.length === 0) continue;
  failures++;
  console.log(told(verdict));
}
console.log(`${count} seeds, ${failures} failed, ${steps} steps, ${Date.now() - began} ms`);

function tell({ world }: Awaited<ReturnType<typeof simulate>>): void {
  console.log(world.scheduler.story.join("\n"));
  for (const [stream, log] of world.runs.flatMap((run) => [...run.events]))
    console.log(
      [stream, ...log.map((e) => `  ${e.seq} ${e.type} ${JSON.stringify(e.payload).slice(0, 200)}`)].join("\n"),
    );
}
