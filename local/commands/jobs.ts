// toren jobs …: runs that are there. A job is a run; the word is the queue's users'.

import { Command } from "commander";
import type { Context } from "./context.ts";
import { exportCommand, forkCommand } from "./jobs-copy.ts";
import { approveCommand, denyCommand } from "./jobs-decide.ts";
import { listCommand } from "./jobs-list.ts";
import { sendCommand } from "./jobs-send.ts";
import { showCommand } from "./jobs-show.ts";
import { signalCommand } from "./jobs-signal.ts";
import { cancelCommand, resumeCommand, retryCommand } from "./jobs-steer.ts";
import { tailCommand } from "./jobs-tail.ts";
import { eraseCommand } from "./prune.ts";

export function jobsCommand(context: Context): Command {
  const jobs = new Command("jobs").description(
    "list, show and follow runs, decide what they wait for, talk to them, stop them",
  );
  for (const make of [
    listCommand,
    showCommand,
    tailCommand,
    approveCommand,
    denyCommand,
    sendCommand,
    signalCommand,
    resumeCommand,
    retryCommand,
    forkCommand,
    exportCommand,
    eraseCommand,
    cancelCommand,
  ])
    jobs.addCommand(make(context));
  return jobs;
}
