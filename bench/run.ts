// One run of the bench, in two halves over one database: first with what the planner knew when the tables were empty, then with what it knows of them full.
import { createBenchDatabase } from "./database.ts";
import { measureAppend } from "./figures/append.ts";
import { measureBundles } from "./figures/bundles.ts";
import { measureGuardian } from "./figures/guardian.ts";
import { measureLists } from "./figures/lists.ts";
import { measureMemory } from "./figures/memory.ts";
import { measureRequests } from "./figures/requests.ts";
import { measureResume } from "./figures/resume.ts";
import { measureStart } from "./figures/start.ts";
import { measureThroughput } from "./figures/throughput.ts";
import { measureWave } from "./figures/wave.ts";
import { fill, prepare, refresh } from "./ground.ts";
import { type Half, openHalf } from "./half.ts";
import type { Measure, Statistics } from "./measure.ts";
import type { Plan } from "./plan.ts";

/** What one run found, and where. */
export interface Found {
  readonly server: string;
  readonly measures: readonly Measure[];
}

/** `told` hears what is measured next. */
export async function run(plan: Plan, databaseUrl: string | undefined, told: (what: string) => void): Promise<Found> {
  told("database");
  const bench = await createBenchDatabase(databaseUrl);
  const admin = await bench.open({ appends: 1, pool: 2 });
  try {
    await prepare(admin.pool);
    const stale = await openHalf(bench); // every connection has its plans before the tables are filled
    told("filling the tables");
    await fill(admin.pool, plan.ground);
    const found = await measureAll(stale, plan, "stale", told);
    told("vacuum and analyse");
    await refresh(admin.pool);
    found.push(...(await measureAll(await openHalf(bench), plan, "fresh", told)));
    told("requests beside a busy worker");
    found.push(...(await measureRequests(bench, "fresh", plan.requests)));
    told("memory");
    found.push(...(await measureMemory(bench, "fresh", plan.memory)));
    told("bundles");
    found.push(...(await measureBundles(plan.processes)));
    return { server: bench.server, measures: found };
  } finally {
    await admin.close();
    await bench.drop();
  }
}

/** In this order no pool is idle for long. What is measured alone has the worker at rest. */
async function measureAll(
  half: Half,
  plan: Plan,
  statistics: Statistics,
  told: (what: string) => void,
): Promise<Measure[]> {
  const { few, many } = plan.ground;
  const figures: readonly [string, () => Promise<Measure[]>][] = [
    ["append", () => measureAppend(half, statistics, plan.appends)],
    ["throughput", () => measureThroughput(half, statistics, plan.throughput)],
    ["start", () => measureStart(half, statistics, plan.starts)],
    ["wave", () => measureWave(half, statistics, plan.wave)],
    ["resume", () => measureResume(half, statistics, plan.resume)],
    ["lists", () => measureLists(half, statistics, plan.lists)],
    ["guardian", () => measureGuardian(half, statistics, { few, many, times: plan.passes })],
  ];
  const found: Measure[] = [];
  for (const [name, measure] of figures) {
    told(`${name}, statistics ${statistics}`);
    found.push(...(await measure()));
  }
  await half.close();
  return found;
}
