// Edits in the middle: the first code is killed while its writer's last call is in flight, the second recovers what it can, and is killed too.
import type { Turn } from "../../shared/adapters/model/script.ts";
import type { Json } from "../../shared/core/json.ts";
import type { ModelRequest } from "../../shared/core/messages.ts";
import type { WorkflowFn } from "../../shared/core/workflow/context.ts";
import { decideCut } from "../../shared/engine/speak-to-task.ts";
import { agent, role, tool, workflow } from "../support/agents.ts";
import { effectOf } from "../support/log-checker.ts";
import { AGENT, charge, echo, firstText, never, type Scenario, takeEffect, type World } from "./world.ts";

const isResearch = (request: ModelRequest): boolean => request.system.includes("researcher");
const hangs = ({ ledger }: World, last: (request: ModelRequest) => boolean): boolean =>
  ledger.some((entry) => last(entry.request));

/** Research in parallel, then a writer that charges something first: the cut asks for it again, and the same key makes it one. */
const crew: WorkflowFn = async (ctx) => {
  const { results } = await ctx.wave("research", [ctx.task("researcher", "a"), ctx.task("researcher", "b")]);
  return await ctx.ask("writer", results.map((r) => r.output ?? null).join());
};
const prompted = (prompt: string) => (world: World) =>
  agent(
    AGENT,
    [role("researcher"), role("writer", { system: prompt, tools: [charge(world)] })],
    workflow(crew as WorkflowFn<never>),
  );

const prompt: Scenario = {
  name: "the writer's prompt edited while its second call is in flight",
  input: "x",
  output: "<a>,<b> by a poet",
  status: "completed",
  keyedEffects: 1,
  before: {
    agent: prompted("a clerk"),
    until: (world) => hangs(world, (r) => r.system === "a clerk" && r.messages.length === 3),
  },
  agent: prompted("a poet"),
  respond: (request, { edited }): Turn | Promise<Turn> => {
    if (isResearch(request)) return echo(request);
    if (request.messages.length === 1) return { tools: [{ name: "charge", args: { sum: 5 } }] };
    return edited ? `${firstText(request)} by ${request.system}` : never();
  },
  settled: (request) => isResearch(request) || (request.system === "a clerk" && request.messages.length === 1),
};

const topics = (names: readonly string[], style: string) => () =>
  agent(
    AGENT,
    [role("researcher"), role("writer")],
    workflow(async (ctx) => {
      const { results } = await ctx.wave(
        "research",
        names.map((name) => ctx.task("researcher", name)),
      );
      return await ctx.ask("writer", `${style} ${results.map((r) => r.output ?? null).join()}`);
    }),
  );

const workflowEdited: Scenario = {
  name: "a topic more, and another input for the writer, while its call is in flight",
  input: "x",
  output: "<long <a>,<b>,<c>>",
  status: "completed",
  keyedEffects: 0,
  before: { agent: topics(["a", "b"], "short"), until: (world) => hangs(world, (r) => r.system.includes("writer")) },
  agent: topics(["a", "b", "c"], "long"),
  respond: (request, { edited }) => (isResearch(request) || edited ? echo(request) : never()),
  settled: (request) => isResearch(request) && firstText(request) !== "c",
};

/** Letters that went out, then a writer. The edit words one anew, adds one, and somebody keeps what went out. */
const letters = (texts: readonly string[]) => (world: World) => {
  const send = tool("send", (args) => takeEffect(world, "send", args as Json), { effects: "external" });
  const post: WorkflowFn<Json> = async (ctx) => {
    const { results } = await ctx.wave(
      "post",
      texts.map((text) => ctx.task("mailer", text)),
    );
    return await ctx.ask("writer", results.map((r) => r.output ?? null).join());
  };
  return agent(AGENT, [role("mailer", { tools: [send] }), role("writer")], workflow(post));
};
const sends = (request: ModelRequest): boolean => request.system.includes("mailer");

const kept: Scenario = {
  name: "an edited workflow whose letters are kept, and one more of them",
  input: "x",
  output: "<<to ann>,<to bob>,<to cleo>>",
  status: "completed",
  keyedEffects: 0,
  before: { agent: letters(["to ann", "to bob"]), until: (world) => hangs(world, (r) => !sends(r)) },
  agent: letters(["to ann", "dear bob", "to cleo"]),
  respond: (request, { edited, calls }) => {
    if (sends(request) && request.messages.length === 1)
      return { tools: [{ name: "send", args: { text: firstText(request) } }] };
    if (sends(request) || !edited) return sends(request) ? echo(request) : never();
    const sent = ["to ann", "to bob", "dear bob"].map((text) => calls.get(effectOf("send", { text })) ?? 0);
    return sent.join() === "1,1,0" ? echo(request) : `sent ${sent.join()}`;
  },
  settled: (request) => sends(request) && firstText(request) !== "to cleo",
  people: async (deps, runId) => void (await decideCut(deps, { agent: AGENT, runId, decision: "keep", by: "ann" })),
};

export const EDITS: readonly Scenario[] = [prompt, workflowEdited, kept];
