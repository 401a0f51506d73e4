// What may go wrong in a simulated run, and how often.
import { LEASE_MS } from "../../shared/core/limits.ts";
import type { QueueFaults } from "./queue.ts";
import type { Random } from "./random.ts";

export type Disturbance =
  /** A worker dies. */
  | "crash"
  /** A worker stands still, past its leases perhaps, and goes on as if nothing had been. */
  | "pause"
  /** Time passes and nothing happens. */
  | "stall"
  /** Nobody reaches the database. */
  | "outage";

export interface Faults {
  /** False: first come, first served. */
  readonly adverse: boolean;
  /** Runs of the program at the same time. */
  readonly runs: number;
  readonly workers: number;
  /** Messages that a worker works on at once. */
  readonly concurrency: number;
  /** How long an invocation may take. */
  readonly invocationMs: number;
  readonly queue: QueueFaults;
  /** Shares of statements. */
  readonly answerLost: number;
  readonly requestLost: number;
  /** Tries of a statement: fewer than the product's, so that what follows is seen more often. */
  readonly tries: number;
  /** Share of facts that are held up for a minute or so. */
  readonly late: number;
  /** Share of model calls. */
  readonly modelFails: number;
  /** A model takes at most so long to answer. Short: many tasks settle in the same moment. */
  readonly modelMs: number;
  /** Share of points that let others overtake them. */
  readonly slow: number;
  /** Chances a step. */
  readonly edits: number;
  readonly cancels: number;
  readonly stops: number;
  readonly disturbing: number;
  /** At most so many: fewer than make a crash loop. */
  readonly disturbances: number;
  readonly kinds: readonly Disturbance[];
}

const QUIET: QueueFaults = { lost: 0, doubled: 0, delayMs: 0, failed: 0 };
const ROUGH: QueueFaults = { lost: 0.3, doubled: 0.3, delayMs: LEASE_MS, failed: 0.03 };

/** Nothing goes wrong. */
export const CALM: Faults = {
  adverse: false,
  runs: 1,
  workers: 1,
  concurrency: 10,
  invocationMs: Number.POSITIVE_INFINITY,
  queue: QUIET,
  answerLost: 0,
  requestLost: 0,
  tries: 2,
  late: 0,
  modelFails: 0,
  modelMs: 800,
  slow: 0,
  edits: 0,
  cancels: 0,
  stops: 0,
  disturbing: 0,
  disturbances: 0,
  kinds: [],
};

const BASE: Faults = { ...CALM, adverse: true, workers: 2, edits: 0.01 };

/** Kinds of weather. */
export const WEATHERS = {
  "in any order": { ...BASE, workers: 3 },
  "hints lost, doubled, late and reordered": { ...BASE, queue: ROUGH },
  "answers and requests lost": { ...BASE, answerLost: 0.1, requestLost: 0.03, modelFails: 0.1 },
  "workers die": { ...BASE, disturbing: 0.02, disturbances: 5, kinds: ["crash"] },
  "workers stand still past their leases": {
    ...BASE,
    disturbing: 0.02,
    disturbances: 5,
    kinds: ["pause", "stall"],
    queue: { ...QUIET, doubled: 0.5 },
  },
  "edits while workers die and stand still": {
    ...BASE,
    edits: 0.03,
    late: 0.4,
    disturbing: 0.03,
    disturbances: 5,
    kinds: ["pause", "stall", "crash"],
  },
  "workers stop and hand over": { ...BASE, stops: 0.01, disturbances: 5, invocationMs: 75_000, edits: 0.03 },
  everything: {
    ...BASE,
    workers: 3,
    queue: ROUGH,
    late: 0.05,
    answerLost: 0.05,
    requestLost: 0.02,
    modelFails: 0.05,
    stops: 0.002,
    disturbing: 0.015,
    disturbances: 5,
    kinds: ["crash", "pause", "stall", "outage"],
  },
} as const satisfies Record<string, Faults>;
export type Weather = keyof typeof WEATHERS;

/** Weather of this kind, or of any, in one of its shades. */
export function faultsOf(random: Random, program: { readonly alone?: boolean }, kind?: Weather): Faults {
  const weather: Faults = kind === undefined ? random.pick(Object.values(WEATHERS)) : WEATHERS[kind];
  const cancels = random.chance(0.12) ? 0.004 : 0;
  const [modelMs, slow, concurrency] = [random.pick([2, 40, 800]), random.pick([0, 0.06, 0.3]), random.pick([3, 10])];
  const edits = weather.edits * random.pick([0.2, 1, 2]); // early, or when much is on record
  return { ...weather, edits, runs: program.alone ? 1 : random.pick([1, 1, 2]), cancels, modelMs, slow, concurrency };
}
