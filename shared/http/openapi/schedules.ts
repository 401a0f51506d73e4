// Runs that start by a clock.
import { newSchedule, scheduleChange, scheduleList, scheduleQuery, scheduleWithTimes } from "../schedules.ts";
import { answer, inPath, itsId, json, query, ref, responses, takes } from "./parts.ts";

const scheduleId = inPath("scheduleId");

export const schedulePaths = {
  "/schedules": {
    get: {
      summary: "All schedules, by name.",
      responses: responses({ "200": json(answer(scheduleList), "Schedules.") }),
    },
    post: {
      summary: "Makes a schedule.",
      requestBody: takes(newSchedule),
      responses: responses({ "201": json(ref("Schedule"), "It is made.") }),
    },
  },
  "/schedules/{scheduleId}": {
    get: {
      summary: "A schedule, with its next times.",
      parameters: [scheduleId, ...query(scheduleQuery)],
      responses: responses({ "200": json(answer(scheduleWithTimes), "The schedule.") }),
    },
    patch: {
      summary: "Changes what is given. Its next time is counted from now on.",
      parameters: [scheduleId],
      requestBody: takes(scheduleChange),
      responses: responses({ "200": json(ref("Schedule"), "As it is now.") }),
    },
    delete: {
      summary: "Removes a schedule. Its runs stay.",
      parameters: [scheduleId],
      responses: responses({ "200": json(answer(itsId), "It is removed.") }),
    },
  },
  "/schedules/{scheduleId}/pause": {
    post: {
      summary: "Stops it from firing, until it is resumed.",
      parameters: [scheduleId],
      responses: responses({ "200": json(ref("Schedule"), "It is paused.") }),
    },
  },
  "/schedules/{scheduleId}/resume": {
    post: {
      summary: "Has it fire again, from now on.",
      parameters: [scheduleId],
      responses: responses({ "200": json(ref("Schedule"), "It fires again.") }),
    },
  },
};
