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

export const PEOPLE_PROGRAMS: readonly Program[] = [
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
