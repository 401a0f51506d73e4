// toren jobs …: runs that are there. A job is a run; the word is the queue's users'.
import { Command } from "commander";
import type { Context } from "./context.ts";
import { listCommand } from "./jobs-list.ts";
import { showCommand } from "./jobs-show.ts";
import { cancelCommand, resumeCommand } from "./jobs-steer.ts";
import { tailCommand } from "./jobs-tail.ts";

export function jobsCommand(context: Context): Command {
  const jobs = new Command("jobs").description("list, show, follow, cancel and nudge runs");
  for (const make of [listCommand, showCommand, tailCommand, cancelCommand, resumeCommand])
    jobs.addCommand(make(context));
  return jobs;
}
