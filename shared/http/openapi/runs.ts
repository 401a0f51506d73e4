// Runs, and what people tell them.

import { exportQuery, fork, forkedOut } from "../copies.ts";
import { outlineQuery } from "../inspect.ts";
import { cancellation, eventsQuery, listQuery, newRun, runsPage, startedOut, toldOut, turnsQuery } from "../runs.ts";
import { approval, message, resumption, retry, signal } from "../speak.ts";
import {
  answer,
  idempotencyKey,
  inPath,
  json,
  lastEventId,
  query,
  ref,
  responses,
  runId,
  takes,
  text,
  withStream,
} from "./parts.ts";

const started = answer(startedOut);
const forked = answer(forkedOut);
const told = answer(toldOut);

export const runPaths = {
  "/runs": {
    post: {
      summary: "Starts a run.",
      parameters: [idempotencyKey("The same request again under this key answers with the run of then.")],
      requestBody: takes(newRun),
      responses: responses({
        "201": json(started, "Started; Location is the run."),
        "200": json(started, "The run that this key started before."),
      }),
    },
    get: {
      summary: "Runs, newest first: those that fit all that is given.",
      parameters: query(listQuery, ["attributes"]),
      responses: responses({ "200": json(answer(runsPage), "A page.") }),
    },
  },
  "/runs/{runId}": {
    get: {
      summary: "A run: its tree of waves and tasks, usage, cost and receipt.",
      parameters: [runId],
      responses: responses({ "200": json(ref("Run"), "The run.") }),
    },
    delete: {
      summary: "Forgets a run that has ended, with everything on record of it.",
      parameters: [runId],
      responses: responses({ "200": json(told, "It is erased.") }),
    },
  },
  "/runs/{runId}/events": {
    get: {
      summary:
        "The run's event log, a page at a time; waits for what comes next if asked to. With `Accept: text/event-stream` as it grows, with what models say right now.",
      parameters: [runId, ...query(eventsQuery), lastEventId],
      responses: responses({ "200": withStream(json(ref("EventsPage"), "A page, or a stream of events.")) }),
    },
  },
  "/runs/{runId}/outline": {
    get: {
      summary: "A stream's events in outline: everything that happened, of texts only the beginnings.",
      parameters: [runId, ...query(outlineQuery)],
      responses: responses({ "200": json(ref("OutlinePage"), "A page.") }),
    },
  },
  "/runs/{runId}/tasks/{taskId}/calls/{seq}": {
    get: {
      summary: "A question to a model as it went out, whole, and the one before it.",
      parameters: [runId, inPath("taskId"), inPath("seq", "Of its event LlmCallStarted in the task's stream.")],
      responses: responses({ "200": json(ref("Call"), "The request.") }),
    },
  },
  "/runs/{runId}/turns": {
    get: {
      summary: "What was said in a session, a page at a time from its end.",
      parameters: [runId, ...query(turnsQuery)],
      responses: responses({ "200": json(ref("TurnsPage"), "A page.") }),
    },
  },
  "/runs/{runId}/approvals": {
    post: {
      summary: "Allows a call that waits for a person, or denies it. The first decision holds.",
      parameters: [runId],
      requestBody: takes(approval),
      responses: responses({ "202": json(told, "It is decided.") }),
    },
  },
  "/runs/{runId}/messages": {
    post: {
      summary: "Says something in a session, or closes it.",
      parameters: [runId, idempotencyKey("Under the same key nothing is said twice.")],
      requestBody: takes(message),
      responses: responses({ "202": json(told, "It is recorded; the answer comes in the run's `turns`.") }),
    },
  },
  "/runs/{runId}/signals": {
    post: {
      summary: "Sends a signal to a run's workflow. It is kept until the workflow waits for it.",
      parameters: [runId, idempotencyKey("Under the same key the signal is sent once.")],
      requestBody: takes(signal),
      responses: responses({ "202": json(told, "It is recorded.") }),
    },
  },
  "/runs/{runId}/cancel": {
    post: {
      summary: "Asks a run to stop. Idempotent while it lives.",
      parameters: [runId],
      requestBody: takes(cancellation, { optional: true }),
      responses: responses({ "202": json(told, "It has been told.") }),
    },
  },
  "/runs/{runId}/resume": {
    post: {
      summary: "Decides about a cut that waits; without a decision, nudges a run that should be going on.",
      parameters: [runId],
      requestBody: takes(resumption, { optional: true }),
      responses: responses({ "202": json(told, "It is decided, or has been nudged.") }),
    },
  },
  "/runs/{runId}/retry": {
    post: {
      summary: "Has a failed run go on: what failed is done again, what is recorded isn't.",
      parameters: [runId],
      requestBody: takes(retry, { optional: true }),
      responses: responses({ "202": json(told, "It goes on.") }),
    },
  },
  "/runs/{runId}/fork": {
    post: {
      summary: "Starts a run that begins with what this one has on record; its answers cost nothing.",
      parameters: [runId, idempotencyKey("The same request again under this key answers with the run of then.")],
      requestBody: takes(fork, { optional: true }),
      responses: responses({
        "201": json(forked, "Started; Location is the run."),
        "200": json(forked, "The run that this key started before."),
      }),
    },
  },
  "/runs/{runId}/export": {
    get: {
      summary: "All rows on record of the run, as lines of JSON, a page at a time.",
      parameters: [runId, ...query(exportQuery)],
      responses: responses({
        "200": {
          description:
            'Lines `{"table": …, "row": {…}}`; the last one is `{"next": …}`, the `after` of the next page, or null.',
          content: { "application/jsonl": { schema: text } },
        },
      }),
    },
  },
};
