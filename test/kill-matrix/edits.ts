// Edits in the middle: the first code is killed while its writer's last call is in flight, the second recovers what it can, and is killed too.
import type { Turn } from "../../shared/adapters/model/script.ts";
import type { ModelRequest } from "../../shared/core/messages.ts";
import type { WorkflowFn } from "../../shared/core/workflow/context.ts";
import { agent, role, workflow } from "../support/agents.ts";
import { AGENT, charge, echo, firstText, never, type Scenario, type World } from "./world.ts";

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

export const EDITS: readonly Scenario[] = [prompt, workflowEdited];
