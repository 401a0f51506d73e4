// The worker of the memory figure: a process of its own, so that nothing but the product and its tasks is in it. Told to its parent: what it takes when it
// is ready, and when all tasks have taken their last step but not yet ended: then they are at their longest.
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { openUrl } from "../shared/adapters/database/url.ts";
import type { Model } from "../shared/ports/model.ts";
import { answer } from "./agents.ts";
import { AGENT } from "./ground.ts";
import { beginWork, createEngine } from "./stack.ts";

export interface Told {
  readonly residentMb: number;
  readonly peakMb: number;
  readonly heapMb: number;
}

const MB = 1024 * 1024;
const tasks = Number(process.argv[2]);
const url = process.env.DATABASE_URL;
if (url === undefined || process.send === undefined) throw new Error("started by bench/figures/memory.ts");

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

const tell = (): void => {
  const peakMb = process.resourceUsage().maxRSS / 1024;
  const residentMb = process.memoryUsage.rss() / MB;
  collect(); // what is in use, without what only hasn't been collected yet
  const told: Told = { residentMb, peakMb, heapMb: process.memoryUsage().heapUsed / MB };
  process.send?.(told);
};

let waiting = 0;
const model: Model = {
  ask: (request) => {
    const response = answer(request);
    if (response.stopReason !== "end") return Promise.resolve({ ok: true, response });
    waiting++;
    if (waiting === tasks) tell();
    return new Promise(() => {}); // the parent ends this process
  },
};

const database = await openUrl(url);
beginWork(createEngine(database, [AGENT], model).deps, database, tasks);
tell();
