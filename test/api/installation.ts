// A server with something in it: runs in every state that a run can be in, files, a schedule, keys, a dead letter.
import { setTimeout as sleep } from "node:timers/promises";
import { type Api, createApi } from "../../local/client/api.ts";
import { createScriptedModel, type Turn } from "../../shared/adapters/model/script.ts";
import type { ModelRequest } from "../../shared/core/messages.ts";
import type { MadeKeyJson } from "../../shared/http/keys.ts";
import type { RunJson } from "../../shared/http/run-json.ts";
import { type Bench, createBench } from "../local/harness.ts";

const TOOLS = `import { defineTool } from "toren";
import * as z from "zod";
export const pay = defineTool({
  name: "pay", description: "Pays.", input: z.object({ to: z.string(), cents: z.int() }), effects: "external", idempotency: "keyed",
  approval: "always", handler: () => "paid",
});
`;
const DESK = `name: desk
description: Pays back.
model: mock/script
system: You pay back.
tools: [pay]
`;
const TALK = `name: talk
description: Talks.
model: mock/script
system: You talk.
mode: session
`;
const SHOP = `name: shop
description: Sells.
roles:
  clerk: { model: mock/script, system: You sell. }
`;
const SHOP_WORKFLOW = `import { defineWorkflow } from "toren";
export default defineWorkflow(async (ctx) => {
  if (ctx.input === "fail") throw new Error("<b>no</b>\\u0000\\u001b[31m");
  return await ctx.waitFor("paid");
});
`;

const isResult = (request: ModelRequest): boolean =>
  request.messages.at(-1)?.content.some((part) => part.type === "toolResult") === true;
const model = createScriptedModel((request): Turn => {
  if (request.system.includes("pay back") && !isResult(request))
    return { tools: [{ name: "pay", args: { to: "<script>alert(1)</script>", cents: 5 } }] };
  return "said: <img src=x onerror=alert(1)> \u0000 \u202e";
});

export interface Installation {
  readonly url: string;
  readonly api: Api;
  readonly runs: Readonly<Record<"echo" | "failed" | "shop" | "desk" | "talk" | "crew", string>>;
  /** Of other things that are there, by the name of the parameter that takes their ids. */
  readonly ids: Readonly<Record<string, readonly string[]>>;
  /** The dev key: it may do everything, and nobody can revoke it. */
  readonly key: string;
  /** Makes one. */
  make(scopes: readonly string[], agents?: readonly string[]): Promise<string>;
  close(): Promise<void>;
}

export async function createInstallation(): Promise<Installation> {
  const bench = await createBench();
  for (const [name, yaml] of Object.entries({ desk: DESK, talk: TALK, shop: SHOP }))
    await bench.write(`agents/${name}/agent.yaml`, yaml);
  await bench.write("agents/desk/tools.ts", TOOLS);
  await bench.write("agents/shop/workflows/main.ts", SHOP_WORKFLOW);
  const { record, key } = await bench.serve(model);
  const api = createApi(record.url, key);
  const make = (scopes: readonly string[], agents: readonly string[] | null = null) =>
    api.ask<MadeKeyJson>("POST", "/keys", { name: scopes.join("+"), scopes, agents });
  const runs = await startRuns(api);
  return {
    url: record.url,
    api,
    key,
    runs,
    ids: await fill(bench, api, make, runs.crew),
    make: async (scopes, agents) => (await make(scopes, agents)).key,
    close: bench.close,
  };
}

async function startRuns(api: Api): Promise<Installation["runs"]> {
  const start = async (agent: string, input: string, status: RunJson["status"]): Promise<string> => {
    const { runId } = await api.start({ agent, input, files: [] }, crypto.randomUUID());
    for (let looks = 0; (await api.run(runId)).status !== status; looks++) {
      if (looks > 400) throw new Error(`the run of ${agent} didn't become ${status}`);
      await sleep(50);
    }
    return runId;
  };
  return {
    echo: await start("echo", "once", "completed"),
    failed: await start("shop", "fail", "failed"),
    shop: await start("shop", "wait", "waitingSignal"),
    desk: await start("desk", "pay", "waitingApproval"),
    talk: await start("talk", "hello", "awaitingInput"),
    crew: await start("crew", "dig", "completed"),
  };
}

async function fill(
  bench: Bench,
  api: Api,
  makeKey: (scopes: readonly string[]) => Promise<MadeKeyJson>,
  runId: string,
) {
  const file = await api.addFile("a.txt", "text/plain", new TextEncoder().encode("text"));
  const schedule = { name: "nightly", agent: "echo", cron: "0 3 * * *", zone: "Europe/Berlin", input: 1 };
  const { id: scheduleId } = await api.ask<{ id: string }>("POST", "/schedules", schedule);
  const { id: keyId } = await makeKey(["read"]);
  const letters = ["m1", "m2", "m3", "m4", "m5"];
  const body = JSON.stringify({ agent: "crew", runId, taskId: null });
  for (const id of letters)
    await bench.sql(
      `INSERT INTO toren_control.dead_letters (message_id, queue, body, receive_count) VALUES ('${id}', 'ticks', '${body}', 5)`,
    );
  return {
    taskId: ["w0t0"],
    seq: ["2"],
    fileId: [file.id],
    scheduleId: [scheduleId],
    keyId: [keyId],
    id: letters,
  };
}
