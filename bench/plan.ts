// How much of everything a run measures. The whole takes some three minutes on two cores; `--quick` only shows that all of it works.
import type { RequestSizes } from "./figures/requests.ts";
import type { ResumeSizes } from "./figures/resume.ts";
import type { ThroughputSizes } from "./figures/throughput.ts";
import type { WaveSizes } from "./figures/wave.ts";
import type { Sizes } from "./ground.ts";

export interface Plan {
  readonly ground: Sizes;
  readonly appends: number;
  readonly throughput: ThroughputSizes;
  readonly resume: ResumeSizes;
  readonly starts: number;
  readonly wave: WaveSizes;
  readonly passes: number;
  /** Requests of each kind of list. */
  readonly lists: number;
  readonly requests: RequestSizes;
  readonly processes: number;
  readonly memory: { readonly tasks: number; readonly steps: number };
}

export const WHOLE: Plan = {
  ground: { runs: 2_000, tasksPerRun: 10, eventsPerTask: 10, few: 1_000, many: 100_000, listed: 100_000 },
  appends: 500,
  throughput: { steps: 60, rounds: 3 },
  resume: { steps: [100, 1_000, 10_000], resumes: 5, live: 100 },
  starts: 40,
  wave: { tasks: [100, 300, 1_000], rounds: 3 },
  passes: 60,
  lists: 100,
  requests: { tasks: 64, posts: 1_000 },
  processes: 15,
  memory: { tasks: 64, steps: 1_000 },
};

export const QUICK: Plan = {
  ground: { runs: 20, tasksPerRun: 2, eventsPerTask: 5, few: 20, many: 200, listed: 200 },
  appends: 10,
  throughput: { steps: 2, rounds: 1 },
  resume: { steps: [20, 40], resumes: 2, live: 3 },
  starts: 3,
  wave: { tasks: [3, 6], rounds: 1 },
  passes: 2,
  lists: 2,
  requests: { tasks: 2, posts: 20 },
  processes: 1,
  memory: { tasks: 4, steps: 5 },
};
