// GET /metrics: what there is to count of an installation, for Prometheus. A statement for each agent and one for the queues, whatever there is of runs.
import { NANO_PER_USD } from "../core/cost.ts";
import { TorenError } from "../core/errors.ts";
import type { Histogram } from "../core/histogram.ts";
import { FIGURES_MAX } from "../core/limits.ts";
import type { QueueDepth } from "../ports/queue.ts";
import type { Figures } from "../ports/totals.ts";
import type { HttpContext, HttpDeps } from "./deps.ts";
import { type Family, type HistogramFamily, PROMETHEUS_TYPE, prometheusText, type Sample } from "./prometheus.ts";

export async function showMetrics(c: HttpContext, { overview, metrics }: HttpDeps): Promise<Response> {
  const [agents, depths] = await Promise.all([
    overview.agents().then((names) => Promise.all(names.map((agent) => figuresOf(metrics, agent)))),
    metrics.queues(),
  ]);
  const text = prometheusText([...agentFamilies(agents), queueFamily(depths), ...appendFamily(metrics.appends)]);
  return c.body(text, 200, { "content-type": PROMETHEUS_TYPE });
}

interface AgentFigures {
  readonly agent: string;
  /** Null: its schema is of a version before there were any. */
  readonly figures: Figures | null;
}

/** An agent that nobody deploys any more keeps its old schema: the others are told of all the same. */
async function figuresOf({ totals }: HttpDeps["metrics"], agent: string): Promise<AgentFigures> {
  try {
    return { agent, figures: await totals.figures(agent) };
  } catch (e) {
    if (e instanceof TorenError && e.code === "schema.older") return { agent, figures: null };
    throw e;
  }
}

type Told = (figures: Figures) => readonly Sample[];
const one = (value: number): readonly Sample[] => [{ value }];

/** Name, type, what it says; of each agent. `docs/reference/metrics.md` has them all. */
const FAMILIES: readonly (readonly [name: string, type: Family["type"], help: string, told: Told])[] = [
  [
    "toren_runs",
    "gauge",
    `Runs that have not ended, by status. At most ${FIGURES_MAX} of each are counted.`,
    ({ live }) => [...live].map(([status, value]) => ({ labels: { status }, value })),
  ],
  ["toren_runs_started_total", "counter", "Runs that a worker has begun.", ({ started }) => one(started)],
  [
    "toren_runs_ended_total",
    "counter",
    "Ends of runs, by how they ended. One that failed and was retried ends again.",
    ({ ended }) => Object.entries(ended).map(([status, value]) => ({ labels: { status }, value })),
  ],
  [
    "toren_oldest_ready_seconds",
    "gauge",
    "For how long the work that waits longest for a worker has waited. 0: none waits.",
    ({ oldestReadyS }) => one(oldestReadyS),
  ],
  ["toren_model_calls_total", "counter", "Answers of models on record.", ({ modelCalls }) => one(modelCalls)],
  [
    "toren_tokens_total",
    "counter",
    "Tokens of those answers; input includes what came from the provider's cache.",
    ({ tokensIn, tokensOut }) => [
      { labels: { direction: "input" }, value: tokensIn },
      { labels: { direction: "output" }, value: tokensOut },
    ],
  ],
  [
    "toren_cost_usd_total",
    "counter",
    "What those answers cost in US dollars, where the price is known; simulated: prices are made up.",
    ({ nanoUsd, simulatedNanoUsd }) => [
      { labels: { simulated: "false" }, value: nanoUsd / NANO_PER_USD },
      { labels: { simulated: "true" }, value: simulatedNanoUsd / NANO_PER_USD },
    ],
  ],
  ["toren_unpriced_calls_total", "counter", "Answers whose price is not known.", ({ unpriced }) => one(unpriced)],
  ["toren_model_failures_total", "counter", "Calls of models that failed.", ({ retries }) => one(retries)],
  ["toren_replays_total", "counter", "Recorded answers that resumed tasks used again.", ({ replays }) => one(replays)],
  ["toren_cuts_total", "counter", "Logs cut since code was edited or a run was retried.", ({ cuts }) => one(cuts)],
];

function agentFamilies(agents: readonly AgentFigures[]): Family[] {
  const readable = agents.map(({ agent, figures }) => ({ labels: { agent }, value: figures === null ? 0 : 1 }));
  return [
    {
      name: "toren_agent_readable",
      type: "gauge",
      help: "1: what follows tells of this agent. 0: its schema is of an older version, run toren migrate.",
      samples: readable,
    },
    ...FAMILIES.map(([name, type, help, told]) => ({
      name,
      type,
      help,
      samples: agents.flatMap(({ agent, figures }) =>
        figures === null ? [] : told(figures).map(({ labels, value }) => ({ labels: { agent, ...labels }, value })),
      ),
    })),
  ];
}

const queueFamily = (depths: readonly QueueDepth[]): Family => ({
  name: "toren_queue_messages",
  type: "gauge",
  help: "Hints in a queue: waiting could be received now, hidden are worked on, delayed come later.",
  samples: depths.flatMap(({ queue, waiting, hidden, delayed }) =>
    Object.entries({ waiting, hidden, delayed }).map(([state, value]) => ({ labels: { queue, state }, value })),
  ),
});

const appendFamily = (histogram: Histogram | null): HistogramFamily[] =>
  histogram === null
    ? []
    : [
        {
          name: "toren_append_seconds",
          type: "histogram",
          help: "What an append to a log took in this process, from asking to the durable answer.",
          histogram,
        },
      ];
