import { defineWorkflow } from "toren";
import * as z from "zod";

export default defineWorkflow({ input: z.number() }, async (ctx) => {
  const before = await ctx.now();
  await ctx.sleep(ctx.input);
  return (await ctx.now()) - before;
});
