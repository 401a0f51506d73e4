// Programs whose workflows go on anew, with work under way that they leave, and signals that come when they like.
import type { Json } from "../../shared/core/json.ts";
import { ask, type Program, program } from "./program.ts";

interface State {
  readonly n: number;
  readonly got: readonly string[];
}
const stateOf = (input: Json): State => (typeof input === "string" ? { n: 0, got: [] } : (input as unknown as State));
const LAST = 3;
const SIGNALS = ["a", "b", "c", "d"].map((value) => ({ signal: "go", value }));
const part = async (ctx: Parameters<Parameters<typeof program>[1]>[0]): Promise<Json> =>
  await ask(ctx, { id: `part${ctx.input}`, rounds: [["look"], ["book"], ["look"]] });

/** Each part leaves a task and a child behind, and receives one signal: none is lost, and none is got twice. */
const endless = program(
  "a run that goes on anew",
  async (ctx, { owner, outside }) => {
    const { n, got } = stateOf(ctx.input);
    const slow = ask(ctx, { id: `slow${n}`, rounds: [["look"], ["book"], ["look"]] });
    const child = ctx.run("part", n);
    const first = await ask(ctx, { id: `a${n}`, rounds: [["book"], ["post"]] });
    const step = await ctx.step("s", ({ idempotencyKey }) => outside.step(owner, `s${n}`, idempotencyKey, 0));
    const all = [...got, (await ctx.waitFor<string>("go")) ?? ""];
    if (n < LAST) return await ctx.continueAsNew({ n: n + 1, got: all });
    return [all.toSorted(), first, step, await slow, await child];
  },
  { processes: () => ({ part }), people: { signals: SIGNALS } },
);

/** The next edition asks something else in each part; a part that is over isn't cut for it. */
const edited = program(
  "edits of a run that goes on anew",
  async (ctx, { edition }) => {
    const { n, got } = stateOf(ctx.input);
    await Promise.race([
      ask(ctx, { id: `e${edition}n${n}`, rounds: [["book"]] }),
      ask(ctx, { id: `same${n}`, rounds: [["look"]] }),
    ]);
    const all = [...got, (await ctx.waitFor<string>("go")) ?? ""];
    return n < LAST ? await ctx.continueAsNew({ n: n + 1, got: all }) : all.toSorted();
  },
  { editions: 3, people: { signals: SIGNALS } },
);

export const ENDLESS_PROGRAMS: readonly Program[] = [endless, edited];
