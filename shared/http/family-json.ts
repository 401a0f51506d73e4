// The runs that a run's workflow has started, and what they came to, as GET /runs/{runId} has them.
import * as z from "zod";
import { usdOf } from "../core/cost.ts";
import { CHILDREN_SHOWN_MAX } from "../core/limits.ts";
import { RUN_STATUSES } from "../core/run-status.ts";
import type { RunView } from "../engine/read-run.ts";
import type { Spent } from "../ports/store.ts";
import { count, rfc3339, time, timeOrNull, usd } from "./json-parts.ts";

const spent = { modelCalls: count, tokens: count, costUsd: usd, simulated: z.boolean() };

export const family = {
  children: z
    .array(
      z.object({
        runId: z.string(),
        process: z.string(),
        status: z.enum(RUN_STATUSES),
        createdAt: time,
        endedAt: time.nullable(),
        ...spent,
      }),
    )
    .meta({
      description: `Runs that its workflow started, the oldest first, at most ${CHILDREN_SHOWN_MAX}; with what each came to by itself.`,
    }),
  childCount: count.meta({ description: "How many there are." }),
  below: z
    .object({
      runs: count,
      ...spent,
      waiting: count.meta({ description: "How many of them wait for a person or a signal." }),
    })
    .nullable()
    .meta({
      description:
        "What everything below the run came to, which isn't in what the run itself came to. Null: it has no children.",
    }),
};

export const familyJson = ({ children, childCount, below }: RunView) => ({
  children: children.map(({ runId, process, status, createdAt, endedAt, spent: own }) => ({
    runId,
    process,
    status,
    createdAt: rfc3339(createdAt),
    endedAt: timeOrNull(endedAt),
    ...spentJson(own),
  })),
  childCount,
  below: below && { runs: below.runs, ...spentJson(below.spent), waiting: below.waiting?.runs ?? 0 },
});

export const spentJson = ({ modelCalls, tokens, unpriced, nanoUsd, simulated }: Spent) => ({
  modelCalls,
  tokens,
  costUsd: unpriced > 0 ? null : usdOf(nanoUsd),
  simulated,
});
