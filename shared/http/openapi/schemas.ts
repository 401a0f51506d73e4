// The forms that several answers share, by their names.

import { ERRORS } from "../../core/errors.ts";
import { RUN_STATUSES } from "../../core/run-status.ts";
import { call } from "../call-json.ts";
import { deadLetter } from "../dead-letters.ts";
import { outlinePage } from "../inspect.ts";
import { keyAnswer } from "../keys.ts";
import { overview } from "../overview.ts";
import { run, runSummary, turnsPage } from "../run-json.ts";
import { scheduleOut } from "../schedules.ts";
import { answer, count, list, nullable, object, ref, type Schema, text, time } from "./parts.ts";

const file = {
  id: text,
  name: text,
  mediaType: text,
  bytes: count,
  pages: { ...nullable(count), description: "Of a PDF." },
};

export const schemas: Readonly<Record<string, Schema>> = {
  Problem: object(
    {
      type: { ...text, description: "Where the code is explained: docs/reference/errors.md#<code without dots>." },
      title: text,
      status: { type: "integer" },
      detail: { ...text, description: "What is wrong, and what to do." },
      code: { ...text, enum: Object.keys(ERRORS) },
      retryable: { type: "boolean", description: "The same request can succeed later." },
      errors: list(object({ path: text, message: text })),
    },
    ["errors"],
  ),
  RunStatus: { ...text, enum: RUN_STATUSES },
  RunSummary: answer(runSummary),
  Run: answer(run),
  TurnsPage: answer(turnsPage),
  Overview: answer(overview),
  DeadLetter: answer(deadLetter),
  OutlinePage: answer(outlinePage),
  Call: answer(call),
  Event: object(
    {
      stream: { ...text, description: "`run`, or `task:<taskId>`." },
      seq: { type: "integer", minimum: 1 },
      type: text,
      recordedAt: time,
      payload: { type: "object" },
      omitted: { ...list(text), description: "Fields left out for their size; ask with `full`." },
    },
    ["omitted"],
  ),
  EventsPage: object({
    events: list(ref("Event")),
    next: { ...text, description: "Pass it as `after`." },
    more: { type: "boolean", description: "More is there already: ask at once." },
    ended: { type: "boolean", description: "Nothing will follow." },
  }),
  Key: answer(keyAnswer),
  Schedule: answer(scheduleOut),
  File: object(file),
  ListedFile: object({ ...file, createdAt: time }),
  Agent: object({
    name: text,
    description: text,
    generation: count,
    processes: list(text),
    sessions: { ...list(text), description: "Those of the processes that are conversations." },
    roles: list(object({ name: text, model: text, tools: list(text), maxSteps: count })),
  }),
};
