// What people and Prometheus ask for while there are very many runs: through the routes, from the request to the whole answer.
import { instant } from "../agents.ts";
import { appOver } from "../api.ts";
import { LISTED } from "../ground.ts";
import type { Half } from "../half.ts";
import { type Measure, measures, percentile, type Statistics, timed } from "../measure.ts";
import { createEngine } from "../stack.ts";

/** `most`: have what is looked for; `few`: a hundredth of them. */
const ASKED: readonly (readonly [what: string, path: string])[] = [
  ["GET /runs", "/runs"],
  ["GET /runs, of two statuses", "/runs?status=failed,running"],
  ["GET /runs, two words that all have", "/runs?text=order%20customer"],
  ["GET /runs, words that begin with a digit", "/runs?text=1"],
  ["GET /runs, a word that few have", "/runs?text=w17"],
  ["GET /runs, a word that none has", "/runs?text=nothing"],
  ["GET /overview", "/overview"],
  ["GET /metrics", "/metrics"],
];
const TARGET_MS = 20;

export async function measureLists({ database }: Half, statistics: Statistics, times: number): Promise<Measure[]> {
  const engine = createEngine(database, [LISTED], instant());
  const measure = measures("lists", statistics);
  const found: Measure[] = [];
  for (const [what, path] of ASKED) {
    // An app and a key each: how often one may ask has a bound, and it isn't what is measured.
    const { app, headers } = appOver(engine.deps, database, ["read"]);
    const taken: number[] = [];
    for (let i = -3; i < times; i++) {
      const ms = await timed(async () => {
        const response = await app.request(path, { headers });
        const text = await response.text();
        if (response.status !== 200) throw new Error(`${path}: ${response.status} ${text}`);
      });
      if (i >= 0) taken.push(ms);
    }
    const target = path.startsWith("/runs") ? { target: { atMost: TARGET_MS } } : {};
    found.push(measure(`${what}, p95`, percentile(taken, 95), "ms", target));
  }
  await engine.close();
  return found;
}
