import { defineWorkflow } from "toren";
import * as z from "zod";

export default defineWorkflow({ input: z.number() }, async (ctx) => {
  const tasks = Array.from({ length: ctx.input }, (_, n) => ctx.task("answerer", `Task ${n}.`));
  const { results } = await ctx.wave("many", tasks);
  return results.filter(({ status }) => status === "completed").length;
});
