// A worker with its hands full, in a process of its own: its tasks never end, and a model answers each of their steps after a while. It says when it is ready.
import { setTimeout as wait } from "node:timers/promises";
import { createNotices } from "../shared/adapters/database/notices.ts";
import { openUrl } from "../shared/adapters/database/url.ts";
import { createLiveOut } from "../shared/adapters/live/postgres.ts";
import type { Model } from "../shared/ports/model.ts";
import { answer } from "./agents.ts";
import { BUSY } from "./ground.ts";
import { beginWork, createEngine, log } from "./stack.ts";

const url = process.env.DATABASE_URL;
if (url === undefined || process.send === undefined) throw new Error("started by bench/figures/requests.ts");

/** 64 such tasks are some 600 steps a second. */
const ANSWER_MS = 100;
const model: Model = {
  ask: async (request) => {
    await wait(ANSWER_MS);
    return { ok: true, response: answer(request) };
  },
};

const database = await openUrl(url);
const live = createLiveOut({ database, notices: createNotices(database, log) });
beginWork(createEngine(database, [BUSY], model, live).deps, database, Number(process.argv[2]));
process.send("ready");
