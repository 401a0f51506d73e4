import { defineWorkflow } from "toren";

export default defineWorkflow(async (ctx) => await ctx.ask("longworker", ctx.input));
