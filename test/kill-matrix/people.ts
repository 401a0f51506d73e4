// People in the loop: what they decide and say is theirs to repeat, so they come again after every death, and nothing takes effect twice.

import type { Json } from "../../shared/core/json.ts";
import type { ModelRequest } from "../../shared/core/messages.ts";
import type { EngineDeps } from "../../shared/engine/deps.ts";
import { decideApproval, sendMessage, sendSignal } from "../../shared/engine/speak-to-task.ts";
import { agent, role, tool, workflow } from "../support/agents.ts";
import { effectOf } from "../support/log-checker.ts";
import { AGENT, charge, echo, type Scenario, takeEffect } from "./world.ts";

const results = (request: ModelRequest): string =>
  (request.messages.at(-1)?.content ?? []).flatMap((p) => (p.type === "toolResult" ? [p.text] : [])).join(" | ");
const lastText = (request: ModelRequest): string =>
  (request.messages.at(-1)?.content ?? []).flatMap((p) => (p.type === "text" ? [p.text] : [])).join("+");

/** Grants what is for at most 10, denies the rest. Deciding a second time is refused, and changes nothing. */
async function decide(deps: EngineDeps, runId: string): Promise<void> {
  for (const { toolUseId, args, decided } of await deps.store.tasks.approvals(AGENT, runId)) {
    if (decided !== null) continue;
    const granted = (args as { sum: number }).sum <= 10;
    await decideApproval(deps, { agent: AGENT, runId, call: toolUseId, granted, by: "ann", comment: "over 10" });
  }
}

const approvals: Scenario = {
  name: "approvals: of three calls one runs, one is granted and one denied",
  input: "x",
  output: 'charged {"sum":1} | seen | ann did not allow this call, and it did not run: over 10',
  status: "completed",
  keyedEffects: 1,
  agent: (world) => {
    const look = tool("look", () => "seen");
    const gated = { ...charge(world), approval: () => true };
    return agent(AGENT, [role("main", { tools: [gated, look] })], { kind: "role", role: "main" });
  },
  respond: (request) =>
    request.messages.length === 1
      ? {
          tools: [
            { name: "charge", args: { sum: 1 } },
            { name: "look", args: {} },
            { name: "charge", args: { sum: 99 } },
          ],
        }
      : results(request),
  people: decide,
};

/** One decision is about one of them, however often both are looked at again. */
const equal: Scenario = {
  ...approvals,
  name: "approvals: two equal calls, one is granted and one denied",
  output: 'charged {"sum":1} | ann did not allow this call, and it did not run: once is enough',
  respond: (request) =>
    request.messages.length === 1
      ? { tools: [1, 1].map((sum) => ({ name: "charge", args: { sum } })) }
      : results(request),
  people: async (deps, runId) => {
    const [first, second] = await deps.store.tasks.approvals(AGENT, runId);
    for (const [asked, granted] of [
      [first, true],
      [second, false],
    ] as const)
      if (asked?.decided === null)
        await decideApproval(deps, {
          agent: AGENT,
          runId,
          call: asked.key,
          granted,
          by: "ann",
          comment: "once is enough",
        });
  },
};

const expired: Scenario = {
  name: "an approval that nobody gives in time",
  input: "x",
  output: "the time limit did not allow this call, and it did not run: nobody decided in time",
  status: "completed",
  keyedEffects: 0,
  agent: (world) =>
    agent(AGENT, [role("main", { tools: [{ ...charge(world), approval: () => true }], approvalTimeoutMs: 40 })], {
      kind: "role",
      role: "main",
    }),
  respond: (request) =>
    request.messages.length === 1 ? { tools: [{ name: "charge", args: { sum: 1 } }] } : results(request),
};

/** Of two calls without a key, one of which may have taken effect unseen, none is made again unasked: that to Ann never, that to Bob as often as allowed. */
const unknown: Scenario = {
  name: "calls whose worker dies inside, and a person who decides what becomes of them",
  input: "x",
  output: "done",
  status: "completed",
  keyedEffects: 0,
  agent: (world) => {
    const mail = tool("mail", (args) => takeEffect(world, "mail", args as Json), { effects: "external" });
    return agent(AGENT, [role("main", { tools: [mail], onUnknownOutcome: "ask" })], { kind: "role", role: "main" });
  },
  respond: (request, { calls, tries }) => {
    if (request.messages.length === 1) return { tools: ["ann", "bob"].map((to) => ({ name: "mail", args: { to } })) };
    const made = (to: string): number => calls.get(effectOf("mail", { to })) ?? 0;
    return made("ann") <= 1 && made("bob") <= 1 + tries ? "done" : `ann ${made("ann")}, bob ${made("bob")}`;
  },
  people: async (deps, runId, world) => {
    for (const { toolUseId, args, decided, reason } of await deps.store.tasks.approvals(AGENT, runId)) {
      if (decided !== null || reason !== "unknownOutcome") continue;
      const granted = (args as { to: string }).to === "bob";
      const decision = { agent: AGENT, runId, call: toolUseId, granted, by: "cleo", comment: "" };
      const told = await decideApproval(deps, decision);
      if (granted && told.type === "told") world.tries++;
    }
  },
};

const SAID = ["two", "three"];
const session: Scenario = {
  name: "a session of three turns, closed with the last",
  input: "one",
  output: "re three",
  status: "completed",
  keyedEffects: 0,
  sealed: true,
  agent: () => agent(AGENT, [role("main")], { kind: "session", role: "main" }),
  respond: (request) => `re ${lastText(request)}`,
  people: async (deps, runId) => {
    const said = await deps.store.tasks.turns(AGENT, runId, { before: null, limit: 100 });
    const turns = said.turns.filter((t) => t.by === "user").length;
    const text = SAID[turns];
    if (text === undefined) return;
    await sendMessage(deps, {
      agent: AGENT,
      runId,
      text,
      close: turns === SAID.length - 1,
      steer: false,
      idempotencyKey: `message ${turns}`,
    });
  },
};

/** One that is awaited, one that comes too early, and one that nobody sends; whoever sends comes again after every death. */
const signals: Scenario = {
  name: "signals: awaited, sent too early, and never sent",
  input: "x",
  output: [1, "<side>", "early", null, { last: true }],
  status: "completed",
  keyedEffects: 0,
  agent: () =>
    agent(
      AGENT,
      [role("r")],
      workflow(async (ctx) => {
        const first = await ctx.waitFor("go");
        const side = await ctx.ask("r", "side");
        const early = await ctx.waitFor("early");
        const never = await ctx.waitFor("never", { timeoutMs: 30 });
        return [first, side, early, never, await ctx.waitFor("last")];
      }),
    ),
  respond: echo,
  people: async (deps, runId) => {
    const sent = [
      { signal: "early", value: "early" },
      { signal: "go", value: 1 },
      { signal: "last", value: { last: true } },
    ];
    for (const one of sent) await sendSignal(deps, { agent: AGENT, runId, ...one, idempotencyKey: one.signal });
  },
};

export const PEOPLE: readonly Scenario[] = [signals, approvals, equal, expired, unknown, session];
