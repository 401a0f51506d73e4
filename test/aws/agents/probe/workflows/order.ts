import { defineWorkflow } from "toren";

export default defineWorkflow(async (ctx) => await ctx.ask("buyer", ctx.input));
