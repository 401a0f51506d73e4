// One simulated run from its seed to a verdict: it ended, as if nothing had gone wrong, and its log and all books agree.
import { LEASE_MS } from "../../shared/core/limits.ts";
import { type Books, checkLog, effectOf, type RunDump } from "../support/log-checker.ts";
import { type Plants, type Run, statusOf } from "./database.ts";
import { CALM, type Faults, faultsOf, type Weather } from "./faults.ts";
import { checkBounds, checkMade, checkPlans, checkQuestions } from "./oracles.ts";
import type { Program } from "./program.ts";
import { PROGRAMS } from "./programs.ts";
import { createRandom } from "./random.ts";
import { World } from "./world.ts";

export interface Verdict {
  readonly seed: number;
  readonly program: string;
  /** None: all is well. */
  readonly wrong: readonly string[];
  readonly steps: number;
  /** Of everything that happened, in order. */
  readonly trace: string;
  readonly world: World;
}

interface Ending {
  readonly status: string;
  readonly said: unknown;
}

const STEPS_MAX = 25_000;
/** Turns in which time passes, and nothing else, count too. */
const TURNS_MAX = 60_000;
/** After the end: whoever is still under way finds out. */
const STEPS_AFTER = 400;
/** Share of commits after which the whole log is looked at. */
const LOOKS = 0.04;

export async function simulate(
  seed: number,
  options: { plants?: Plants; program?: Program; weather?: Weather; faults?: Faults } = {},
): Promise<Verdict> {
  const random = createRandom(seed ^ 0x5eed);
  const program = options.program ?? random.pick(PROGRAMS);
  const faults = options.faults ?? faultsOf(random, program, options.weather);
  const expected = await endingsOf(program);
  const world = new World(seed, program, faults, options.plants);
  const wrong = await live(world);
  if (wrong.length === 0) wrong.push(...judge(world, expected));
  return { seed, program: program.name, wrong, steps: world.scheduler.steps, trace: world.scheduler.trace(), world };
}

/** What failed, and how to see it again. */
export const told = ({ seed, program, wrong, world }: Verdict): string =>
  [
    `SEED=${seed} PROGRAM="${program.startsWith("grown") ? "grown" : program}" node test/sim/soak.ts`,
    ...world.events,
    ...wrong.slice(0, 8),
  ].join("\n  ");

async function live(world: World): Promise<string[]> {
  const wrong = watch(world);
  world.start();
  for (let turns = 0; !world.over && wrong.length === 0; turns++) {
    if (turns > TURNS_MAX) return [`not over after ${TURNS_MAX} turns`, ...streamsOf(world)];
    if (!(await world.turn())) return ["stuck: nothing will ever happen again", ...streamsOf(world)];
    if (world.scheduler.steps > STEPS_MAX) return [`not over after ${STEPS_MAX} steps`, ...streamsOf(world)];
  }
  for (let i = 0; i < STEPS_AFTER && wrong.length === 0; i++) if (!(await world.turn())) break;
  return wrong;
}

/** Looks at what is committed, and at each question on its way out. */
function watch(world: World): string[] {
  const wrong: string[] = [];
  let commits = 0;
  world.db.onCommit = (label) => {
    wrong.push(...world.problems.splice(0), ...world.db.deadlocks.splice(0));
    const latest = world.runs.flatMap((run) => [...run.streams.values()]);
    const late = latest.find((s) => (s.leaseUntil ?? 0) > world.scheduler.now + LEASE_MS);
    if (late !== undefined) wrong.push(`${late.streamId}: its lease ends after more than a lease's time`);
    if (++commits % Math.round(1 / LOOKS) !== 0) return;
    wrong.push(...checkLog(world.runs.map(dumpOf), booksOf(world)).map((what) => `after ${label}: ${what}`));
  };
  world.provider.onAsked = (entry) => {
    const { digest, owner } = entry;
    wrong.push(...checkBounds(world, entry));
    const logs = world.runs.flatMap((run) => [...run.events.values()]);
    const announced = logs.some((log) =>
      log.some((e) => e.type === "LlmCallStarted" && e.payload.requestDigest === digest),
    );
    if (!announced && !world.program.sealed) wrong.push(`I4: ${owner} asked ${digest} before it was on record`);
  };
  return wrong;
}

function judge(world: World, expected: readonly Ending[]): string[] {
  const endings = world.roots.map(endingOf);
  const cancelled = endings.filter((e) => e.status === "cancelled").length;
  const strange = endings.filter((e) => !expected.some((one) => JSON.stringify(one) === JSON.stringify(e)));
  const wrong = strange.filter((e) => e.status !== "cancelled" || !world.cancelled);
  return [
    ...checkLog(world.runs.map(dumpOf), booksOf(world)),
    ...checkQuestions(world.runs.map(dumpOf), world.program.sealed ? [] : world.provider.ledger),
    ...world.runs.flatMap(checkPlans),
    ...(world.program.asks ? checkMade(world.runs, world.outside.unkeyed) : []),
    ...(cancelled > 1 ? [`${cancelled} runs are cancelled, of one was it asked`] : []),
    ...wrong.map(
      (e) => `it ended as ${JSON.stringify(e)}, not as ${expected.map((x) => JSON.stringify(x)).join(" or ")}`,
    ),
  ];
}

const endingOf = ({ record }: Run): Ending => ({ status: statusOf(record), said: record.output ?? record.error });

const known = new Map<string, Promise<readonly Ending[]>>();
/** How the program ends when nothing goes wrong, for each of its editions. */
function endingsOf(program: Program): Promise<readonly Ending[]> {
  const endings =
    known.get(program.name) ?? Promise.all(Array.from({ length: program.editions }, (_, i) => calmly(program, i)));
  known.set(program.name, endings);
  return endings;
}

async function calmly(program: Program, edition: number): Promise<Ending> {
  const world = new World(1, program, CALM);
  for (let i = 0; i < edition; i++) world.deploy();
  for (const worker of world.workers) worker.edition = edition;
  const wrong = await live(world);
  const [run] = world.roots;
  if (wrong.length > 0 || run === undefined) throw new Error(`${program.name} fails by itself: ${wrong.join("\n")}`);
  return endingOf(run);
}

export function dumpOf(run: Run): RunDump {
  const { record, streams, events, inbox, waves } = run;
  return {
    runId: record.runId,
    status: statusOf(record),
    waves: [...waves.values()],
    streams: [...streams.values()].map((s) => ({
      ...s,
      events: events.get(s.streamId) ?? [],
      inbox: (inbox.get(s.streamId) ?? []) as RunDump["streams"][number]["inbox"],
    })),
  };
}

function booksOf(world: World): Books {
  const { keyed, unkeyed } = world.outside;
  const counts = new Map<string, number>();
  for (const { tool, args } of unkeyed) counts.set(effectOf(tool, args), (counts.get(effectOf(tool, args)) ?? 0) + 1);
  return {
    wavering: world.program.wavering ?? false,
    ...(world.program.sealed ? {} : { ledger: world.provider.ledger }),
    effects: { keyed: new Map([...keyed.keys()].map((key) => [key, 1])), unkeyed: counts },
  };
}

const streamsOf = (world: World): string[] =>
  world.runs
    .flatMap((run) => [...run.streams.values()])
    .filter((s) => s.status !== "ended")
    .map(({ streamId, status, wait, wakeAt, headSeq, inboxSeq }) => {
      return `  ${streamId}: ${status}, waits for ${wait}, wakes at ${wakeAt}, head ${headSeq}, inbox ${inboxSeq}`;
    });
