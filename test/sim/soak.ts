// Runs many seeds and prints those that fail: `node test/sim/soak.ts [how many] [from]`. One seed in full: `SEED=7 node test/sim/soak.ts`.
// One program alone: `PROGRAM=waves`. With a mistake planted in the store's statements: `PLANT=noEpoch` (database.ts lists them).
import { PROGRAMS } from "./programs.ts";
import { simulate } from "./simulate.ts";

const one = process.env.SEED;
const count = one === undefined ? Number(process.argv[2] ?? 200) : 1;
const from = Number(one ?? process.argv[3] ?? 1);
const plants = process.env.PLANT === undefined ? {} : { [process.env.PLANT]: true };
const program = PROGRAMS.find((p) => p.name === process.env.PROGRAM);
const began = Date.now();
let failures = 0;
let steps = 0;
for (let seed = from; seed < from + count; seed++) {
  const verdict = await simulate(seed, { plants, ...(program === undefined ? {} : { program }) });
  steps += verdict.steps;
  if (one !== undefined) tell(verdict);
  if (verdict.wrong.length === 0) continue;
  failures++;
  console.log(
    `SEED=${seed} (${verdict.program}; ${verdict.steps} steps): ${verdict.world.events.join(", ")}\n  ${verdict.wrong.slice(0, 8).join("\n  ")}`,
  );
}
console.log(`${count} seeds, ${failures} failed, ${steps} steps, ${Date.now() - began} ms`);

function tell({ world }: Awaited<ReturnType<typeof simulate>>): void {
  console.log(world.scheduler.story.join("\n"));
  for (const [stream, log] of world.runs.flatMap((run) => [...run.events]))
    console.log(
      [stream, ...log.map((e) => `  ${e.seq} ${e.type} ${JSON.stringify(e.payload).slice(0, 200)}`)].join("\n"),
    );
}
