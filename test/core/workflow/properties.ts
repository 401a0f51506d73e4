// Over 300 lines: one list of properties. The scheduler's properties over random programs, without a test framework: properties.test.ts binds them to jest, and
// `RUNS=2000 SEED=1 node test/core/workflow/properties.ts` runs them deeper, under plain Node.
import assert from "node:assert/strict";
import fc from "fast-check";
import type { Json } from "../../../shared/core/json.ts";
import { awaitedSignals } from "../../../shared/core/workflow/awaited.ts";
import type { WorkflowFn } from "../../../shared/core/workflow/context.ts";
import type { RunFact, RunLog } from "../../../shared/core/workflow/fold.ts";
import { foldRun, isOperation, isRunFact } from "../../../shared/core/workflow/fold.ts";
import { type ClaimablePlan, claims, planTick } from "../../../shared/core/workflow/plan.ts";
import type { Advance, PendingOperation } from "../../../shared/core/workflow/schedule.ts";
import { Asked } from "./asked.ts";
import { blind, choices, edit, plain, program, programOf, restyled, type Style, type Tree, twins } from "./programs.ts";
import { drive, factsOf, type Happening, type Log, normal, Paid, partsOf, World } from "./world.ts";

/** What a session of properties covered. */
export const tally: Record<string, number> = {};
const count = (what: string, n = 1): void => {
  tally[what] = (tally[what] ?? 0) + n;
};

export interface Property {
  readonly name: string;
  /** Of how many of the runs of others it does; default: all. */
  readonly share?: number;
  check(parameters: fc.Parameters<unknown>): Promise<void>;
}
const property = <T>(name: string, of: fc.IAsyncPropertyWithHooks<T>): Property => {
  // A turn of the event loop after each run: rejections that nobody handled come up in it.
  const withTurn = of.afterEach(() => new Promise<void>((done) => setImmediate(done)));
  return { name, check: (parameters) => fc.assert(withTurn, parameters as fc.Parameters<T>) };
};

const isEnding = (e: { type: string }): boolean => e.type === "RunCompleted" || e.type === "RunFailed";

/** Decisions as they would stand in the log. */
const asLog = ({ decisions }: Advance, world: World): Log =>
  planTick(decisions, world.history, world).events.map((event, i) => ({
    ...event,
    seq: decisions[i]?.seq ?? 0,
    recordedAt: 0,
  }));
const operationsOf = (result: Advance, world: World): Log => asLog(result, world).filter(isOperation);
const shape = (outcome: object): string => JSON.stringify({ ...outcome, pending: 0, steps: 0 });

/** The same happenings, several in a tick. */
async function inGroups(
  workflow: WorkflowFn<Json>,
  story: readonly Happening[],
  sizes: readonly number[],
): Promise<World> {
  const many = new World();
  await many.tick(workflow);
  for (let i = 0, group = 0; i < story.length && many.outcome.type === "blocked"; group++) {
    const batch: RunFact[] = [];
    for (let k = (sizes[group % sizes.length] ?? 0) % 7; i < story.length && k >= 0; k--) {
      const happening = story[i];
      const facts = happening && factsOf(many, happening);
      if (!facts) break;
      batch.push(...facts);
      i++;
    }
    assert.ok(batch.length > 0, "a happening's operation is on record by then");
    await many.tick(workflow, batch);
  }
  return many;
}

const grouping = (name: string, style: Style): Property =>
  property(
    `any grouping of arrivals gives the log and the result of one completion a tick (${name})`,
    fc.asyncProperty(program, choices, choices, async (tree, how, sizes) => {
      const workflow = programOf(tree, style);
      const { world: one, story } = await drive(workflow, how);
      const many = await inGroups(workflow, story, sizes);
      const a = normal(one.log);
      const b = normal(many.log);
      assert.deepEqual(b.ops, a.ops);
      assert.deepEqual(b.end, a.end);
      assert.equal(many.outcome.type, one.outcome.type);
      assert.deepEqual(b.facts.slice(0, a.facts.length), a.facts);
      count("programs driven in two groupings");
      count(`… ${one.outcome.type}`);
      count("… operations", a.ops.length);
      count("… completions", story.length);
    }),
  );

const prefixes = (name: string, style: Style): Property =>
  property(
    `no prefix of a log is contradicted by its own code (${name})`,
    fc.asyncProperty(program, choices, async (tree, how) => {
      const workflow = programOf(tree, style);
      const { world } = await drive(workflow, how, 40);
      const whole = normal(world.log.filter((e) => !isEnding(e)));
      for (let n = 1; n <= world.raw.length; n++) {
        const part = new World(world.raw.slice(0, n));
        const size = part.log.filter(isRunFact).length;
        const result = await part.advance(workflow);
        assert.ok(result.outcome.type !== "cut" && !isForeign(result), result.outcome.type);
        const mine = normal([...part.log, ...asLog(result, part)].filter((e) => !isEnding(e)));
        assert.deepEqual(mine.ops, whole.ops.slice(0, mine.ops.length));
        assert.deepEqual(mine.facts, whole.facts.slice(0, size));
        if (result.outcome.type === "blocked") openWaits([...part.log, ...asLog(result, part)], result.outcome.pending);
        count("prefixes replayed");
      }
      const again = new World(world.raw); // recorded values, not this tick's
      again.now = 77;
      again.seed = "another";
      const result = await again.advance(workflow);
      assert.deepEqual(operationsOf(result, again), []);
      assert.equal(shape(result.outcome), shape(world.outcome));
    }),
  );
/** Of one part. */
const unended = (log: RunLog): RunLog => log.filter((e, i) => i === 0 || !(isEnding(e) || e.type === "RunContinued"));

/** Programs one after the other, each in a part of its own: what one says is the next one's input. */
const endless =
  (trees: readonly Tree[], style: Style): WorkflowFn<Json> =>
  async (ctx) => {
    const { at, said } = (ctx.input ?? { at: 0, said: "" }) as { at: number; said: string };
    const tree = trees[at];
    if (tree === undefined) return said;
    const more = await programOf(tree, style)(ctx).catch((e: Error) => style.heard(e.message));
    return await ctx.continueAsNew({ at: at + 1, said: `${said}|${String(more)}` });
  };

const continuing = (name: string, style: Style): Property =>
  property(
    `a run that goes on anew: no prefix is contradicted, its last part says all, and grouping doesn't show (${name})`,
    fc.asyncProperty(fc.array(program, { minLength: 2, maxLength: 3 }), choices, choices, async (trees, how, sizes) => {
      const workflow = endless(trees, blind(style));
      const { world, story } = await drive(workflow, how, 40);
      const parts = partsOf(world.raw);
      const whole = parts.map((part) => normal(unended(part)));
      for (let n = 1; n <= world.raw.length; n++) {
        const prefix = new World(world.raw.slice(0, n));
        const { history } = prefix;
        assert.deepEqual(foldRun(prefix.raw.slice(history.begun.seq - 1)), history);
        const result = await prefix.advance(workflow);
        assert.ok(result.outcome.type !== "cut" && !isForeign(result), result.outcome.type);
        const mine = normal(unended([...prefix.log, ...asLog(result, prefix)]));
        assert.deepEqual(mine.ops, whole[prefix.part]?.ops.slice(0, mine.ops.length));
        count("prefixes of runs that go on anew");
      }
      const many = await inGroups(workflow, story, sizes);
      const [a, b] = [parts.map(normal), partsOf(many.raw).map(normal)];
      assert.deepEqual(
        b.map((part) => part.ops),
        a.map((part) => part.ops),
      );
      assert.deepEqual(
        b.map((part) => part.end),
        a.map((part) => part.end),
      );
      assert.equal(many.outcome.type, world.outcome.type);
      count("… parts", whole.length);
      count("… signals kept", world.raw.flatMap((e) => (e.type === "RunContinued" ? e.signals : [])).length);
    }),
  );

const isForeign = ({ outcome }: Advance): boolean =>
  outcome.type === "failed" && outcome.error.code === "workflow.foreign_await";

function openWaits(log: RunLog, pending: readonly PendingOperation[]): void {
  const waits = pending.filter((p) => p.type === "signal").map((p) => p.seq);
  assert.deepEqual(
    awaitedSignals(log).map((wait) => wait.seq),
    waits,
  );
  count("open waits for signals", waits.length);
}

const hasTwins = (log: RunLog): boolean => {
  const keys = log.filter(isOperation).map((op) => `${op.after} ${op.digest}`);
  return new Set(keys).size < keys.length;
};

const refactoring = property(
  "extra awaits and helpers cut nothing, unless a window holds two equal operations",
  fc.asyncProperty(program, choices, fc.nat(1000), async (tree, how, v) => {
    const { world } = await drive(programOf(tree), how, 40);
    const twin = hasTwins(world.log);
    const other = programOf(tree, restyled(v));
    count(
      twin
        ? "logs with equal operations in a window, replayed by refactored code"
        : "logs without, replayed by refactored code",
    );
    for (let n = 1; n <= world.raw.length; n++) {
      const part = new World(world.raw.slice(0, n));
      const result = await part.advance(other);
      if (twin) {
        if (result.outcome.type !== "cut") continue;
        count("… cut, there");
        return;
      }
      assert.ok(result.outcome.type !== "cut" && !isForeign(result), result.outcome.type);
      if (n < world.raw.length) continue;
      assert.deepEqual(operationsOf(result, part), []);
      assert.deepEqual(normal(asLog(result, part)).end, normal(world.log).end);
    }
  }),
);

const edits = fc.array(fc.tuple(fc.nat(), fc.nat(4)), { minLength: 1, maxLength: 3 });
const editing = property(
  "after any edit the run goes on, ends as the new code says, and no task of equal content runs twice",
  fc.asyncProperty(program, choices, fc.nat(12), edits, async (tree, how, at, changes) => {
    const world = new Paid();
    world.flaky = true;
    await world.go(programOf(tree), how, at);
    if (world.outcome.type === "blocked") {
      await world.go(programOf(changes.reduce((t, [where, what]) => edit(t, where, what), tree)), how, 120);
      count("edited runs");
      count("… cuts", world.cuts);
      count("… claimed tasks", world.claimed);
      count("… tasks run", world.contents.size);
    }
    for (const [content, runs] of world.runs) {
      const needed = world.most.get(content) ?? 0;
      assert.ok(runs <= needed, `${content} ran ${runs} times, needed ${needed}`);
    }
    const again = await world.advance(world.code);
    assert.notEqual(again.outcome.type, "cut");
    assert.deepEqual(operationsOf(again, world), []);
  }),
);

/** Whoever asks a role of these may do something that can't be done twice. */
const ACTS: ReadonlySet<string> = new Set(["x", "n0", "n1", "n2"]);
const deciding = property(
  "I6b: whatever is decided after an edit, nothing that acts is asked anew unseen, kept tasks answer for others, and the log fits its code",
  fc.asyncProperty(program, choices, fc.nat(12), edits, choices, async (tree, how, at, changes, decisions) => {
    const world = new Asked((role) => ACTS.has(role), decisions);
    await world.go(programOf(tree, twins), how, at);
    if (world.outcome.type !== "blocked") return;
    await world.go(
      programOf(
        changes.reduce((t, [where, what]) => edit(t, where, what), tree),
        twins,
      ),
      how,
      120,
    );
    count("edited runs with decisions");
    count("… questions", world.questions);
    count("… tasks that answer for others", world.standing);
    count("… given up", world.givenUp);
    assert.deepEqual(world.wrong, []);
    const held = [...world.history.plans.values()].flatMap((plan) => plan.tasks);
    assert.equal(new Set(held).size, held.length, "a task answers in two places");
    const again = await world.advance(world.code);
    assert.notEqual(again.outcome.type, "cut");
    assert.deepEqual(operationsOf(again, world), []);
    const settled = world.raw.findLastIndex((e) => e.type === "StreamInvalidated") + 1;
    for (let n = settled + 1; n < world.raw.length; n++) {
      const { outcome } = await new World(world.raw.slice(0, n)).advance(world.code);
      assert.notEqual(outcome.type, "cut", "cut by its own code");
    }
  }),
);

const plans = fc.array(
  fc.record({
    name: fc.constantFrom("a", "b"),
    tasks: fc.array(fc.record({ digest: fc.constantFrom("p", "q", "r", "s") }), { maxLength: 5 }),
  }),
  { maxLength: 4 },
);
const claiming = property(
  "claims: each recorded task once; nothing new while an equal one is free; a place keeps its own",
  fc.asyncProperty(plans, plans, fc.array(fc.nat(30)), async (old, wanted, takenAt) => {
    let n = 0;
    const cut = old.map((p): ClaimablePlan => ({ name: p.name, tasks: p.tasks.map((t) => ({ ...t, id: `t${n++}` })) }));
    const all = cut.flatMap((p) => p.tasks);
    const digests = new Map(all.map((t) => [t.id, t.digest]));
    const seen = new Set(takenAt.map((i) => `t${i}`));
    for (const plan of wanted) {
      const ids = claims(cut, seen, plan);
      const free = all.filter((t) => !seen.has(t.id));
      for (const [i, id] of ids.entries()) {
        if (id === null) continue;
        assert.ok(!seen.has(id));
        seen.add(id);
        assert.equal(digests.get(id), plan.tasks[i]?.digest);
      }
      for (const digest of new Set(plan.tasks.map((t) => t.digest))) {
        const want = plan.tasks.filter((t) => t.digest === digest).length;
        const have = free.filter((t) => t.digest === digest).length;
        assert.equal(ids.filter((id) => id !== null && digests.get(id) === digest).length, Math.min(want, have));
      }
      const own = cut.find((p) => p.name === plan.name);
      for (const [i, t] of own?.tasks.entries() ?? []) {
        if (free.includes(t) && plan.tasks[i]?.digest === t.digest) assert.equal(ids[i], t.id);
      }
      count("plans claimed");
    }
  }),
);

export const properties: readonly Property[] = [
  grouping("unlike operations", plain),
  grouping("many equal operations", twins),
  prefixes("unlike operations", plain),
  prefixes("many equal operations", twins),
  { ...continuing("unlike operations", plain), share: 0.25 },
  { ...continuing("many equal operations", twins), share: 0.25 },
  refactoring,
  editing,
  deciding,
  claiming,
];

/** RUNS (default `runs`) and SEED come from the environment; fast-check prints the seed of a failure. */
export const parameters = (runs: number): fc.Parameters<unknown> => ({
  numRuns: Number(process.env.RUNS ?? runs),
  ...(process.env.SEED ? { seed: Number(process.env.SEED) } : {}),
});

export const summary = (): string =>
  Object.entries(tally)
    .map(([what, n]) => `${n} ${what}`)
    .join("\n");

if (import.meta.filename === process.argv[1]) {
  const { authorsCode } = await import("../../../shared/core/workflow/window.ts");
  process.on("unhandledRejection", (e) => {
    if (authorsCode() === null) throw e;
    count("rejections that only the guard saw");
  });
  for (const { name, check, share = 1 } of properties) {
    const from = performance.now();
    await check(parameters(500 * share));
    console.log(`ok ${name} (${Math.round(performance.now() - from)} ms)`);
  }
  console.log(summary());
}
