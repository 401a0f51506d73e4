// Random workflows: trees of operations under sequences, Promise.all, race and the like, with random numbers of awaits in between.
import fc from "fast-check";
import { hash } from "../../../shared/core/digest.ts";
import type { Json } from "../../../shared/core/json.ts";
import type { WorkflowCtx, WorkflowFn } from "../../../shared/core/workflow/context.ts";

export const short = (text: string): string => hash(text).slice(0, 8);
/** A number that looks random and always is the same for the same text. */
export const bits = (text: string): number => Buffer.from(hash(text), "base64url").readUInt32BE(0);

type Kind =
  | "ask"
  | "wave"
  | "collect"
  | "timed"
  | "empty"
  | "step"
  | "now"
  | "random"
  | "sleep"
  | "until"
  | "signal"
  | "patient"
  | "child";
export type Tree = { readonly id: number } & (
  | {
      readonly k: "op";
      readonly kind: Kind /** Its content doesn't depend on earlier results. */;
      readonly deaf: boolean;
    }
  | { readonly k: "seq" | "all" | "settled" | "race" | "any"; readonly kids: readonly Tree[] }
  /** late: start a, do b, then await a. lost: a is never awaited. */
  | { readonly k: "try" | "late" | "lost"; readonly a: Tree; readonly b: Tree }
  | { readonly k: "loop"; readonly times: number; readonly body: Tree }
);

/** What a refactoring may change: extra awaits, extracted helpers. `same`: how many distinct contents there are (0: all differ). */
export interface Style {
  pad(id: number): number;
  wrap(id: number): boolean;
  readonly same: number;
  /** What it makes of what it is told. */
  heard(text: string): string;
}
const message = (error: unknown): string => (error as Error).message;
const whole = (text: string): string => text;
export const plain: Style = { pad: (id) => bits(`pad${id}`) % 3, wrap: () => false, same: 0, heard: whole };
export const twins: Style = { ...plain, same: 3 };
export const restyled = (v: number): Style => ({
  pad: (id) => bits(`${v}p${id}`) % 6,
  wrap: (id) => bits(`${v}w${id}`) % 2 === 0,
  same: 0,
  heard: whole,
});
/** Ids of tasks say how many waves were planned before, and of those that were planned as a part ended nobody saw the last. */
export const blind = (style: Style): Style => ({ ...style, heard: (text) => text.replaceAll(/w\d+t/g, "t") });

export const programOf =
  (tree: Tree, style: Style = plain): WorkflowFn<Json> =>
  async (ctx) =>
    await exec(tree, ctx, "", style);

const turn = Promise.resolve();
type Exec = (tree: Tree, acc?: string) => Promise<string>;

async function exec(tree: Tree, ctx: WorkflowCtx<Json>, acc: string, style: Style): Promise<string> {
  for (let i = style.pad(tree.id); i > 0; i--) await turn;
  const go: Exec = (kid, from = acc) => {
    if (!style.wrap(kid.id)) return exec(kid, ctx, from, style);
    return (async () => {
      const r = await exec(kid, ctx, from, style);
      return r;
    })();
  };
  switch (tree.k) {
    case "op":
      return short(`${acc}|${style.heard(JSON.stringify(await operation(tree, ctx, acc, style)) ?? "")}`);
    case "seq": {
      let last = acc;
      for (const kid of tree.kids) last = await go(kid, last);
      return last;
    }
    case "all":
    case "settled":
    case "race":
    case "any":
      return await together(tree.k, tree.kids, go, style);
    case "try":
      try {
        return await go(tree.a);
      } catch (e) {
        return await go(tree.b, short(`${acc}|${style.heard(message(e))}`));
      }
    case "late": {
      const a = go(tree.a);
      const b = await go(tree.b);
      return short(`${b}|${await a}`);
    }
    case "lost":
      void go(tree.a);
      return await go(tree.b);
    case "loop": {
      let last = acc;
      for (let i = 0; i < tree.times && (i === 0 || bits(last) % 4 > 0); i++) last = await go(tree.body, last);
      return last;
    }
  }
}

async function together(
  k: "all" | "settled" | "race" | "any",
  kids: readonly Tree[],
  go: Exec,
  style: Style,
): Promise<string> {
  const legs = kids.map((kid) => go(kid));
  switch (k) {
    case "all":
      return short((await Promise.all(legs)).join());
    case "settled": {
      const ends = await Promise.allSettled(legs);
      return short(
        JSON.stringify(ends.map((r) => (r.status === "fulfilled" ? r.value : style.heard(message(r.reason))))),
      );
    }
    case "race":
      return await Promise.race(legs);
    case "any":
      return await Promise.any(legs);
  }
}

function operation(tree: Tree & { k: "op" }, ctx: WorkflowCtx<Json>, acc: string, style: Style): Promise<unknown> {
  const name = style.same ? `n${tree.id % style.same}` : `n${tree.id}`;
  const input = tree.deaf ? name : `${name}|${acc}`;
  const ms = style.same ? 5 : 1000 + tree.id;
  switch (tree.kind) {
    case "ask":
      return ctx.ask(name, input);
    case "wave":
      return ctx.wave(name, [ctx.task("x", input), ctx.task("y", input)]);
    case "collect":
      return ctx.wave(
        name,
        ["x", "z", "x"].map((role) => ctx.task(role, input)),
        { onTaskFailure: "collect" },
      );
    case "timed":
      return ctx.wave(name, [ctx.task("x", input), ctx.task("x", name)], { timeoutMs: 1 + (tree.id % 7) });
    case "empty":
      return ctx.wave(name, []);
    case "step":
      return ctx.step(name, async () => name);
    case "now":
      return ctx.now();
    case "random":
      return ctx.random();
    case "sleep":
      return ctx.sleep(ms);
    case "until":
      return ctx.sleepUntil(ms);
    case "signal":
      return ctx.waitFor(`s${tree.id % 3}`);
    case "patient":
      return ctx.waitFor(`s${tree.id % 3}`, { timeoutMs: ms });
    case "child":
      return ctx.run(name, input);
  }
}

const kinds: readonly Kind[] = [
  "ask",
  "ask",
  "wave",
  "collect",
  "timed",
  "empty",
  "step",
  "now",
  "random",
  "sleep",
  "until",
  "signal",
  "patient",
  "child",
];
const { tree } = fc.letrec<{ tree: Tree; leaf: Tree }>((tie) => {
  const id = fc.nat(1_000_000);
  const k = <K extends string>(...of: K[]) => fc.constantFrom(...of);
  const kids = (minLength: number) => fc.array(tie("tree"), { minLength, maxLength: 4 });
  return {
    leaf: fc.record({ id, k: k("op"), kind: fc.constantFrom(...kinds), deaf: fc.boolean() }),
    tree: fc.oneof(
      { depthSize: "small", withCrossShrink: true, maxDepth: 5 },
      tie("leaf"),
      fc.record({ id, k: k("seq"), kids: kids(1) }),
      fc.record({ id, k: k("seq"), kids: kids(2) }),
      fc.record({
        id,
        k: fc.constantFrom("all" as const, "all" as const, "settled" as const, "race" as const, "any" as const),
        kids: kids(2),
      }),
      fc.record({
        id,
        k: fc.constantFrom("try" as const, "late" as const, "lost" as const),
        a: tie("tree"),
        b: tie("tree"),
      }),
      fc.record({ id, k: k("loop"), times: fc.integer({ min: 1, max: 3 }), body: tie("tree") }),
    ),
  };
});

/** Ids in order, so that two nodes never share one. */
function unique(node: Tree, next = { id: 0 }): Tree {
  const id = next.id++;
  if ("kids" in node) return { ...node, id, kids: node.kids.map((kid) => unique(kid, next)) };
  if ("a" in node) return { ...node, id, a: unique(node.a, next), b: unique(node.b, next) };
  return "body" in node ? { ...node, id, body: unique(node.body, next) } : { ...node, id };
}

export const program: fc.Arbitrary<Tree> = fc
  .array(tree, { minLength: 2, maxLength: 5, size: "max" })
  .map((kids) => unique({ id: 0, k: "seq", kids }));

/** How things happen: which operation completes next, and how. */
export const choices: fc.Arbitrary<number[]> = fc.array(fc.nat(2 ** 20), { minLength: 1, maxLength: 60 });

/** An edit of the author's: 0 changes content, 1 inserts before, 2 removes, 3 reverses, 4 appends. */
export function edit(node: Tree, where: number, what: number): Tree {
  if ("a" in node)
    return where % 2 ? { ...node, a: edit(node.a, where >> 1, what) } : { ...node, b: edit(node.b, where >> 1, what) };
  if ("body" in node) return { ...node, body: edit(node.body, where, what) };
  if (!("kids" in node) || node.kids.length === 0) return what === 0 ? { ...node, id: node.id + 500 } : node;
  const { kids } = node;
  const at = where % kids.length;
  if (where % 3)
    return { ...node, kids: kids.map((kid, i) => (i === at ? edit(kid, Math.floor(where / 3), what) : kid)) };
  const fresh: Tree = { id: 900 + (where % 50), k: "op", kind: "ask", deaf: true };
  const edited = [
    kids,
    [fresh, ...kids],
    kids.length > 1 ? kids.toSpliced(at, 1) : kids,
    kids.toReversed(),
    [...kids, fresh],
  ];
  return { ...node, kids: edited[what] ?? kids };
}
