import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { TorenError } from "../../shared/core/errors.ts";
import { createHistogram } from "../../shared/core/histogram.ts";
import { prometheusText } from "../../shared/http/prometheus.ts";
import { FIGURES, fakeApp, problem } from "./fakes.ts";

describe("GET /metrics", () => {
  test("says what each agent has counted, what waits in queues, and how long appends took", async () => {
    const appends = createHistogram([0.01, 0.1]);
    for (const seconds of [0.01, 0.02, 3]) appends.add(seconds);
    const queues = async () => [{ queue: "ticks" as const, waiting: 4, hidden: 1, delayed: 2 }];
    const { ask } = fakeApp({ metrics: { appends, queues } });
    const response = await ask("/metrics");
    expect(response.headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8");
    const lines = (await response.text()).split("\n").filter((line) => !line.startsWith("# HELP"));
    expect(lines).toEqual(
      expect.arrayContaining([
        "# TYPE toren_runs gauge",
        'toren_runs{agent="echo",status="waitingApproval"} 1',
        'toren_runs_started_total{agent="echo"} 3',
        'toren_runs_ended_total{agent="echo",status="failed"} 1',
        'toren_oldest_ready_seconds{agent="echo"} 0.25',
        'toren_model_calls_total{agent="echo"} 7',
        'toren_tokens_total{agent="echo",direction="input"} 100',
        'toren_cost_usd_total{agent="echo",simulated="false"} 1.5',
        'toren_unpriced_calls_total{agent="echo"} 2',
        'toren_model_failures_total{agent="echo"} 1',
        'toren_replays_total{agent="echo"} 4',
        'toren_cuts_total{agent="echo"} 0',
        'toren_queue_messages{queue="ticks",state="waiting"} 4',
        "# TYPE toren_append_seconds histogram",
        'toren_append_seconds_bucket{le="0.01"} 1',
        'toren_append_seconds_bucket{le="0.1"} 2',
        'toren_append_seconds_bucket{le="+Inf"} 3',
        "toren_append_seconds_sum 3.03",
        "toren_append_seconds_count 3",
      ]),
    );
  });

  test("where nothing is appended, as behind API Gateway, nothing is said of appends", async () => {
    expect(await (await fakeApp().ask("/metrics")).text()).not.toContain("toren_append");
  });

  test("an agent with an older schema keeps nobody from being told of the others", async () => {
    const figures = async (agent: string) => {
      if (agent === "old") throw new TorenError("schema.older", "run toren migrate");
      return FIGURES;
    };
    const overview = { agents: async () => ["echo", "old"] };
    const text = await (await fakeApp({ metrics: { totals: { figures } }, overview }).ask("/metrics")).text();
    expect(text).toContain('toren_agent_readable{agent="echo"} 1\ntoren_agent_readable{agent="old"} 0\n');
    expect(text).toContain('toren_model_calls_total{agent="echo"} 7');
    expect(text).not.toContain('calls_total{agent="old"}');
  });

  test("a database that is away is 503, not a page of zeros", async () => {
    const figures = async () => Promise.reject(new TorenError("database.unavailable", "away"));
    expect((await problem(await fakeApp({ metrics: { totals: { figures } } }).ask("/metrics"))).status).toBe(503);
  });
});

test("docs/reference/metrics.md has every metric with its type, and no other; alerts name none that isn't there", async () => {
  const page = (path: string) => readFileSync(join(import.meta.dirname, "../../docs", path), "utf8");
  const queues = async () => [{ queue: "ticks" as const, waiting: 0, hidden: 0, delayed: 0 }];
  const text = await (await fakeApp({ metrics: { appends: createHistogram([1]), queues } }).ask("/metrics")).text();
  const metrics = [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name, type]) => `${name} ${type}`);
  const rows = [...page("reference/metrics.md").matchAll(/^\| `(toren_\w+)` \| (\w+) \|/gm)];
  expect(rows.map(([, name, type]) => `${name} ${type}`).sort()).toEqual(metrics.sort());
  const named = [...page("how-to/watch-with-prometheus.md").matchAll(/toren_\w+/g)].map(([name]) =>
    name.replace(/_bucket$/, ""),
  );
  const names = metrics.map((metric) => metric.split(" ")[0]);
  expect(named.filter((name) => !names.includes(name))).toEqual([]);
});

test("labels and words that mean something to the format are escaped", () => {
  const text = prometheusText([
    { name: "a", type: "gauge", help: "x\ny\\z", samples: [{ labels: { l: 'q"\\\n' }, value: 1e-7 }] },
    { name: "empty", type: "gauge", help: "", samples: [] },
  ]);
  expect(text).toBe('# HELP a x\\ny\\\\z\n# TYPE a gauge\na{l="q\\"\\\\\\n"} 1e-7\n');
});
