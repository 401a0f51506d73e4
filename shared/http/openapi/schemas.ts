// The forms that several answers share, by their names.

import * as z from "zod";
import { RUN_STATUSES } from "../../core/run-status.ts";
import { agentOut } from "../agents.ts";
import { call } from "../call-json.ts";
import { deadLetter } from "../dead-letters.ts";
import { eventsPage } from "../events-page.ts";
import { fileOut } from "../files.ts";
import { outlinePage } from "../inspect.ts";
import { keyAnswer } from "../keys.ts";
import { overview } from "../overview.ts";
import { problemOut } from "../problems.ts";
import { run, runSummary, turnsPage } from "../run-json.ts";
import { scheduleOut } from "../schedules.ts";
import { answer, type Schema } from "./parts.ts";

export const schemas: Readonly<Record<string, Schema>> = {
  Problem: answer(problemOut),
  RunStatus: answer(z.enum(RUN_STATUSES)),
  RunSummary: answer(runSummary),
  Run: answer(run),
  TurnsPage: answer(turnsPage),
  Overview: answer(overview),
  DeadLetter: answer(deadLetter),
  OutlinePage: answer(outlinePage),
  Call: answer(call),
  EventsPage: answer(eventsPage),
  Key: answer(keyAnswer),
  Schedule: answer(scheduleOut),
  File: answer(fileOut),
  Agent: answer(agentOut),
};
