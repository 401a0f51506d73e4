// The function that consumes the queues `tasks-short`, ten messages at once and more while they wait, and `tasks-solo`, one at a time.
import { TASKS_PER_WORKER } from "../../shared/core/limits.ts";
import { sleep } from "../aws.ts";
import { lambda } from "../lambda.ts";
import { createTaskHandler } from "../task.ts";
import { giveBack } from "../unready.ts";

/** Lambda says how much time is left; nobody asks a function to stop. */
const never = new AbortController().signal;

export const handler = lambda({
  name: "task",
  leases: true,
  make: ({ engine }) =>
    createTaskHandler({ engine, stop: never, topUp: { queue: "tasks-short", slots: TASKS_PER_WORKER, sleep } }),
  unready: giveBack,
});
