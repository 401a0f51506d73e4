// What is run in the simulation.
import { TaskFailed } from "../../shared/core/workflow/context.ts";
import { ENDLESS_PROGRAMS } from "./endless-programs.ts";
import { FAMILY_PROGRAMS } from "./family-programs.ts";
import { GATE_PROGRAMS } from "./gate-programs.ts";
import { PEOPLE_PROGRAMS } from "./people-programs.ts";
import { ask, type Program, program, wave } from "./program.ts";
import type { Script } from "./provider.ts";

const BUSY: readonly (readonly string[])[] = [["book", "look", "post"], ["book"]];

const one: Program = {
  ...program("one task with tools", (ctx) => ask(ctx, { id: "a", rounds: BUSY })),
};

const waves = program("waves", async (ctx) => {
  const first = await wave(ctx, "first", [
    { id: "a", rounds: [["book"]] },
    { id: "b" },
    { id: "c", rounds: [["post", "look"]] },
  ]);
  const texts = first.results.map((r) => r.output ?? "");
  const second = await wave(
    ctx,
    "second",
    texts.map((t) => ({ id: `2${t}` })),
  );
  return await ask(ctx, { id: second.results.map((r) => r.output).join("+") });
});

const nested = program("nested", async (ctx) => {
  const chainOf = async (id: string, length: number): Promise<string> => {
    let last = id;
    for (let i = 0; i < length; i++) last = await ask(ctx, { id: `${id}${i}`, rounds: id === "x" ? [["book"]] : [] });
    return last;
  };
  const [x, y, z] = await Promise.all([chainOf("x", 3), chainOf("y", 1), chainOf("z", 2)]);
  const first = await Promise.race([chainOf("p", 1), chainOf("q", 2)]); // whoever wins, what follows is the same
  const tail = await Promise.all([ask(ctx, { id: "t1" }), ctx.step("s", async () => 1)]);
  return [x, y, z, typeof first, ...tail];
});

const failing = program("failing waves", async (ctx) => {
  const scripts: Script[] = [
    { id: "good" },
    { id: "bad", refuse: true },
    { id: "slow", rounds: [["look"], ["book"], ["look"]] },
  ];
  const collected = await wave(ctx, "collect", scripts, { onTaskFailure: "collect" });
  const caught = await wave(ctx, "fail", scripts).then(
    () => "no failure",
    (e: Error) => e.message,
  );
  const alone = await ask(ctx, { id: "bad", refuse: true }).catch((e: unknown) =>
    e instanceof TaskFailed ? e.code : "?",
  );
  return [collected.results.map((r) => r.output ?? r.error ?? ""), caught, alone];
});

const ends = program("a wave that fails the run", async (ctx) => {
  await wave(ctx, "w", [{ id: "a", rounds: BUSY }, { id: "bad", refuse: true }, { id: "c" }]);
  return "never";
});

const timers = program("timers", async (ctx) => {
  const t0 = await ctx.now();
  await Promise.all([ctx.sleep(40_000), ctx.sleepUntil(t0 + 7_000).then(() => ask(ctx, { id: "early" }))]);
  const t1 = await ctx.now();
  await ctx.sleep(0);
  const drawn = await ctx.random();
  return { waited: t1 - t0 >= 40_000, drawn: drawn >= 0 && drawn < 1, last: await ask(ctx, { id: "late" }) };
});

const steps = program("steps with retries", async (ctx, { owner, outside }) => {
  const step = (name: string, failures: number): Promise<string> =>
    ctx.step(name, ({ idempotencyKey }) => outside.step(owner, name, idempotencyKey, failures), { attempts: 9 });
  const both = await Promise.all([step("plain", 0), step("flaky", 2), ask(ctx, { id: "beside", rounds: [["book"]] })]);
  const again = await step("plain", 1);
  const given = await ctx
    .step("hopeless", async () => Promise.reject(new Error("no")), { attempts: 2 })
    .catch((e: Error) => e.message);
  return [...both, again, given];
});

const timeouts = program(
  "time-outs",
  async (ctx) => {
    const slow = await wave(ctx, "slow", [{ id: "a", rounds: [["book"]] }, { id: "never", hang: true }, { id: "b" }], {
      timeoutMs: 1_500_000,
      onTaskFailure: "collect",
    });
    const alone = await ask(ctx, { id: "never", hang: true }, { timeoutMs: 5_000 }).catch((e: unknown) =>
      e instanceof TaskFailed ? e.code : "?",
    );
    return [slow.results.map((r) => r.output ?? r.error?.split(":")[0] ?? ""), alone];
  },
  { alone: true },
);

/** Each edition asks in other words: recorded questions differ, tasks that haven't ended are cut (I6). */
const prompts = program(
  "an edited prompt",
  async (ctx) => {
    const first = await wave(ctx, "first", [
      { id: "a", rounds: [["book"], ["look", "book"]] },
      { id: "b", rounds: [["book"]] },
    ]);
    return await ask(ctx, { id: first.results.map((r) => r.output).join("+"), rounds: [["look"]] });
  },
  { editions: 2, prompt: ({ edition }) => `You work, edition ${edition}.` },
);

/** An edit that would silently repeat what was posted (I6b): refused until it is taken back. */
const refused = program(
  "an edit that is taken back",
  async (ctx) => {
    const rounds = [["post"], ["look"], ["book"]];
    const first = await wave(ctx, "first", [
      { id: "a", rounds },
      { id: "b", rounds: [["look"]] },
      { id: "c", rounds },
    ]);
    return await ask(ctx, { id: first.results.map((r) => r.output).join("+"), rounds: [["post"]] });
  },
  {
    editions: 2,
    takenBack: true,
    wavering: true,
    prompt: ({ edition }) => `You work, ${edition % 2}.`,
  },
);

/** A wave breaks and stops its other tasks; an edit then asks for what they were asked (claims take over content, never how somebody was stopped). */
const afterFailure = program(
  "an edit after a failure",
  async (ctx, { edition }) => {
    const slow: Script = { id: "slow", rounds: [["look"], ["look"], ["book"]] };
    const first = await (edition === 0
      ? wave(ctx, "w", [slow, { id: "bad", refuse: true }]).then(
          () => "no failure",
          (e: Error) => e.message,
        )
      : wave(ctx, "v", [slow, { id: "other" }]).then(({ results }) => results.map((r) => r.output ?? r.error ?? "")));
    return [first, await ask(ctx, { id: "x", rounds: [["look"], ["look"]] })];
  },
  { editions: 2 },
);

/** A prompt that every worker reads differently: each take-over cuts, until the storm limit has it wait (I7). */
const unstable = program(
  "an unstable prompt",
  async (ctx) =>
    await Promise.all([1, 2].map((n) => ask(ctx, { id: `a${n}`, rounds: [["look"], ["look"], ["look"], ["look"]] }))),
  { wavering: true, prompt: ({ owner }) => `You work at ${owner}.` },
);

/** Edits of the workflow: what is claimed, what is new, what is dropped. The output says which edition ended the run. */
const rewritten = program(
  "an edited workflow",
  async (ctx, { edition }) => {
    const topics =
      [
        ["a", "b", "c"],
        ["c", "a"],
        ["z", "a", "b", "c"],
      ][edition] ?? [];
    const first = await wave(
      ctx,
      "research",
      topics.map((id) => ({ id, rounds: [["book", "look"], ["look"]] })),
    );
    const summary = await ask(ctx, { id: `${edition}:${first.results.map((r) => r.output).join("+")}` });
    return `${edition}/${summary}`;
  },
  { editions: 3 },
);

export const PROGRAMS: readonly Program[] = [
  one,
  waves,
  nested,
  failing,
  ends,
  timers,
  steps,
  timeouts,
  prompts,
  refused,
  unstable,
  rewritten,
  afterFailure,
  ...FAMILY_PROGRAMS,
  ...ENDLESS_PROGRAMS,
  ...PEOPLE_PROGRAMS,
  ...GATE_PROGRAMS,
];
