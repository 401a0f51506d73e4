// Programs whose workflows start runs: several at a time, runs of runs, runs that fail; edited while they go on.
import type { ChildFailed } from "../../shared/core/workflow/context.ts";
import { ask, type Program, program, wave } from "./program.ts";

const code = (e: unknown): string => (e as ChildFailed).code;

const children = program(
  "child runs",
  async (ctx) => {
    const [deep, broken, plain] = await Promise.all([
      ctx.run("deep", 1),
      ctx.run("broken", null).catch(code),
      ctx.run("plain", "p"),
    ]);
    const first = await Promise.race([ctx.run("plain", "q"), ctx.run("plain", "r")]);
    return [deep, broken, plain, typeof first, await ask(ctx, { id: "x" })];
  },
  {
    processes: () => ({
      deep: async (ctx) => {
        const below = Number(ctx.input) === 0 ? null : await ctx.run("deep", Number(ctx.input) - 1);
        return [below, await ask(ctx, { id: `d${ctx.input}`, rounds: [["book"]] })];
      },
      broken: async (ctx) => {
        await wave(ctx, "w", [
          { id: "bad", refuse: true },
          { id: "slow", rounds: [["look"], ["look"]] },
        ]);
        return "never";
      },
      plain: async (ctx) => await ask(ctx, { id: String(ctx.input), rounds: [["look"]] }),
    }),
  },
);

/** The next edition keeps one child, drops one and asks for another; what runs of the dropped one stops with its parent. */
const edited = program(
  "an edited workflow of child runs",
  async (ctx, { edition }) => {
    const wanted =
      [
        ["a", "b"],
        ["b", "c"],
        ["z", "c", "b"],
      ][edition] ?? [];
    const said = await Promise.all(wanted.map((id) => ctx.run<string>("part", id)));
    return [edition, ...said, await ask(ctx, { id: `sum ${said.join("+")}` })];
  },
  {
    editions: 3,
    processes: () => ({
      part: async (ctx) => {
        const first = await ask(ctx, { id: `1${ctx.input}`, rounds: [["book"], ["look"]] });
        return await ask(ctx, { id: `2${first}`, rounds: [["look"]] });
      },
    }),
  },
);

const orphans = program(
  "a run that fails beside its children",
  async (ctx) => {
    const child = ctx.run("slow", null);
    await ask(ctx, { id: "bad", refuse: true });
    return await child;
  },
  {
    processes: () => ({
      slow: async (ctx) => [await ctx.run("slower", null), await ask(ctx, { id: "s" })],
      slower: async (ctx) => await ask(ctx, { id: "t", rounds: [["look"], ["book"], ["look"]] }),
    }),
  },
);

export const FAMILY_PROGRAMS: readonly Program[] = [children, edited, orphans];
