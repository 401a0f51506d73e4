// Programs with people in the loop: who allows calls, talks, and decides about edits. Whatever they do and whenever, an output says the same: what
// depends on them is either decided alike, or left out of it.
import type { Json } from "../../shared/core/json.ts";
import { ask, type CallArgs, conversation, type Program, program, task, wave } from "./program.ts";

/** The same for the same call, whoever is asked. */
const isAllowed = ({ of, round, i }: CallArgs): boolean => (of.charCodeAt(0) + round + i) % 2 === 0;
const argsOf = (call: { readonly args: Json }): CallArgs => call.args as unknown as CallArgs;

const allowed = program(
  "calls that somebody allows or not",
  async (ctx) => {
    const rounds = [
      ["book", "look", "post"],
      ["post", "book"],
    ];
    const { results } = await wave(ctx, "w", [{ id: "a", rounds }, { id: "b", rounds }, { id: "c" }]);
    return results.map((r) => r.output ?? "");
  },
  { gate: (tool) => tool !== "look", people: { allows: (call) => isAllowed(argsOf(call)) } },
);

const expired = program(
  "calls that nobody decides about",
  async (ctx) => await ask(ctx, { id: "a", rounds: [["book", "look"], ["post"]] }),
  { gate: (tool) => tool !== "look", role: { approvalTimeoutMs: 45_000 }, people: {} },
);

/** Whether a worker died inside a call isn't in the output: what was done outside is in the books. */
const unknown = program(
  "calls whose worker may have died, and somebody says",
  async (ctx) => {
    const rounds = [["post", "look"], ["post", "book"], ["post"]];
    const { results } = await wave(ctx, "w", [
      { id: "a", rounds },
      { id: "b", rounds },
    ]);
    return results.map((r) => r.status);
  },
  { asks: true, role: { onUnknownOutcome: "ask" }, people: { allows: (_, random) => random.chance(0.5) } },
);

const SAID = ["hello", "one book", "and two", "look look", "three book", "post post"];

const talk = conversation("a conversation", {
  input: task({ id: "s", rounds: [["book"], ["look", "look"]] }),
  sealed: true,
  people: { says: SAID },
});

/** Each edition speaks in other words. What was shown stays; a turn under way is cut, or somebody decides about it. */
const talkEdited = conversation("a conversation whose prompt is edited", {
  input: task({ id: "s", rounds: [["post"], ["look", "book"]] }),
  editions: 3,
  sealed: true,
  prompt: ({ edition }) => `You talk, edition ${edition}.`,
  people: { says: SAID, decisions: ["keep", "rerun"] },
});

const decided = (decisions: readonly ("keep" | "rerun")[]): Program =>
  program(
    `an edited prompt, ${decisions.join(" or ")}`,
    async (ctx) => {
      const rounds = [["post"], ["look"], ["book"]];
      const { results } = await wave(ctx, "w", [
        { id: "a", rounds },
        { id: "b", rounds: [["look"]] },
        { id: "c", rounds },
      ]);
      return await ask(ctx, { id: results.map((r) => r.output).join("+"), rounds: [["post"]] });
    },
    { editions: 2, sealed: true, prompt: ({ edition }) => `You work, edition ${edition}.`, people: { decisions } },
  );

/** The edit words what was posted anew, and adds something. How many there are says which edition ended the run, and nothing else does. */
const replanned = (decisions: readonly ("keep" | "rerun")[]): Program =>
  program(
    `an edited workflow, ${decisions.join(" or ")}`,
    async (ctx, { edition }) => {
      const rounds = [["post"], ["look"]];
      const ids =
        [
          ["a", "b"],
          ["A", "b", "C"],
          ["A", "B"],
        ][edition] ?? [];
      const first = await wave(
        ctx,
        "w",
        ids.map((id) => ({ id, rounds })),
      );
      const second = await ask(ctx, { id: ["x", "y", "y"][edition] ?? "", rounds: [["look"], ["post"]] });
      return [first.results.length, typeof second];
    },
    { editions: 3, wavering: true, people: { decisions } },
  );

/** What is sent comes before anybody waits, while somebody does, and when it is too late: everything is got once, in the order that the log has. */
const signalled = program(
  "signals, early, late and never",
  async (ctx) => {
    const side = ask(ctx, { id: "side", rounds: [["book"], ["look"]] });
    const first = await ctx.waitFor("go");
    const pair = await Promise.all([ctx.waitFor<string>("pair"), ctx.waitFor<string>("pair")]);
    const never = await ctx.waitFor("never", { timeoutMs: 30_000 });
    const last = await ask(ctx, { id: `${first}`, rounds: [["post"]] });
    const late = await Promise.race([ctx.waitFor("late"), ctx.sleep(1).then(() => ctx.waitFor("late"))]);
    return [await side, pair.map((text) => text ?? "").sort(), never, last, late];
  },
  {
    people: {
      signals: [
        { signal: "go", value: 1 },
        { signal: "pair", value: "a" },
        { signal: "pair", value: "b" },
        { signal: "late", value: { deep: [1] } },
        { signal: "nobody waits for it", value: null },
      ],
    },
  },
);

/** The wait stands behind what is edited: it is cut, and what was sent isn't. */
const signalledEdited = program(
  "signals under edits",
  async (ctx, { edition }) => {
    const before = await ask(ctx, { id: `e${edition}` });
    const [got, timed] = [await ctx.waitFor("go"), await ctx.waitFor("never", { timeoutMs: 5_000 })];
    return [typeof before, got, timed, await ctx.waitFor("go")];
  },
  { editions: 3, people: { signals: ["a", "a"].map((value) => ({ signal: "go", value })) } },
);

export const PEOPLE_PROGRAMS: readonly Program[] = [
  signalled,
  signalledEdited,
  allowed,
  expired,
  unknown,
  talk,
  talkEdited,
  decided(["keep"]),
  decided(["keep", "rerun"]),
  replanned(["keep"]),
  replanned(["keep", "rerun"]),
];
