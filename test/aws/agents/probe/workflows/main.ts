import { defineWorkflow } from "toren";

export default defineWorkflow(async (ctx) => await ctx.ask("answerer", ctx.input));
