import { defineWorkflow, TaskFailed, type TaskOutcome } from "toren";

interface Plan {
  readonly topics: readonly string[];
}

/** What the writer reads about one topic. */
interface Finding {
  readonly topic: string;
  readonly notes: string;
}

/** Plan the topics, research them in parallel, write the answer. One topic that fails does not sink the others. */
export default defineWorkflow(async (ctx) => {
  const question = ctx.input;
  // A model that can't keep the planner's form may still research: then the whole question is the one topic.
  const { topics } = await ctx.ask<Plan>("planner", question).catch((thrown: unknown): Plan => {
    if (thrown instanceof TaskFailed) return { topics: [question] };
    throw thrown;
  });

  const research = await ctx.wave<string>(
    "research",
    topics.map((topic) => ctx.task("researcher", topic)),
    { onTaskFailure: "collect" },
  );
  const findings = research.results.map((outcome, i) => finding(topics[i] ?? question, outcome));
  if (research.results.every((outcome) => outcome.status === "failed")) {
    throw new Error(`no topic could be researched: ${findings.map((f) => f.notes).join("; ")}`);
  }

  return ctx.ask<string>("writer", {
    question,
    findings: findings.map(({ topic, notes }) => ({ topic, notes })),
  });
});

function finding(topic: string, outcome: TaskOutcome<string>): Finding {
  return outcome.status === "completed"
    ? { topic, notes: outcome.output }
    : { topic, notes: `This topic could not be researched (${outcome.error}).` };
}
