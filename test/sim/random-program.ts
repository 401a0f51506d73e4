// Workflows grown from a seed: sequences, branches, races, waves, steps, timers and caught failures, in any nesting. Whoever wins a race, the output is
// the same; an edition more is another tree, grown from the same seed with one branch replaced.
import type { Json } from "../../shared/core/json.ts";
import type { WorkflowCtx } from "../../shared/core/workflow/context.ts";
import { type Env, type Program, program, task } from "./program.ts";
import type { Script } from "./provider.ts";
import { createRandom, type Random } from "./random.ts";

type Node =
  | { readonly kind: "ask" | "run"; readonly script: Script }
  | { readonly kind: "wave"; readonly name: string; readonly scripts: readonly Script[]; readonly collect: boolean }
  | { readonly kind: "step"; readonly name: string; readonly failures: number }
  | { readonly kind: "sleep"; readonly ms: number }
  | { readonly kind: "now" }
  | { readonly kind: "seq" | "all" | "race"; readonly nodes: readonly Node[] };

const LEAVES = ["ask", "ask", "ask", "wave", "wave", "step", "sleep", "now", "run"] as const;
const BRANCHES = ["seq", "seq", "all", "all", "race"] as const;
/** Few, so that equal questions meet: they are matched by their order alone. */
const IDS = ["a", "b", "c", "d"];

function script(random: Random): Script {
  const rounds = Array.from({ length: random.int(3) }, () => random.pick([["look"], ["book"], ["book", "look"]]));
  return { id: random.pick(IDS), rounds, refuse: random.chance(0.1) };
}

function grow(random: Random, depth: number): Node {
  if (depth > 0 && random.chance(depth / 4)) {
    const nodes = Array.from({ length: 2 + random.int(2) }, () => grow(random, depth - 1));
    return { kind: random.pick(BRANCHES), nodes };
  }
  const kind = random.pick(LEAVES);
  switch (kind) {
    case "ask":
    case "run":
      return { kind, script: script(random) };
    case "wave": {
      const scripts = Array.from({ length: random.int(4) }, () => script(random));
      return { kind, name: random.pick(["w", "v"]), scripts, collect: random.chance(0.5) };
    }
    case "step":
      return { kind, name: random.pick(["s", "t"]), failures: random.chance(0.3) ? 1 : 0 };
    case "sleep":
      return { kind, ms: random.pick([0, 5, 3_000, 40_000]) };
    case "now":
      return { kind };
  }
}

/** One branch or leaf is another. */
function edited(random: Random, node: Node): Node {
  if (!("nodes" in node) || random.chance(0.3)) return grow(random, 1);
  const place = random.int(node.nodes.length);
  if (random.chance(0.3)) return { ...node, nodes: node.nodes.toSpliced(place, 0, grow(random, 0)) };
  return { ...node, nodes: node.nodes.map((n, i) => (i === place ? edited(random, n) : n)) };
}

async function run(ctx: WorkflowCtx<Json>, env: Env, node: Node): Promise<Json> {
  const failed = (e: unknown): string => `failed: ${(e as Error).name}`;
  switch (node.kind) {
    case "ask":
      return await ctx.ask<string>("worker", task(node.script)).catch(failed);
    case "run":
      return await ctx.run("leaf", task(node.script)).catch(failed);
    case "wave": {
      const tasks = node.scripts.map((s) => ctx.task("worker", task(s)));
      const settled = ctx.wave<string>(node.name, tasks, { onTaskFailure: node.collect ? "collect" : "fail" });
      return await settled.then(({ results }) => results.map((r) => r.output ?? r.status), failed);
    }
    case "step": {
      const { name, failures } = node;
      return await ctx.step(name, (s) => env.outside.step(env.owner, name, s.idempotencyKey, failures), {
        attempts: 4,
      });
    }
    case "sleep":
      await ctx.sleep(node.ms);
      return node.ms;
    case "now":
      return (await ctx.now()) > 0;
    case "seq": {
      const all: Json[] = [];
      for (const n of node.nodes) all.push(await run(ctx, env, n));
      return all;
    }
    case "all":
      return await Promise.all(node.nodes.map((n) => run(ctx, env, n)));
    case "race":
      await Promise.race(node.nodes.map((n) => run(ctx, env, n)));
      return "raced";
  }
}

export function randomProgram(seed: number): Program {
  const random = createRandom(seed ^ 0x9e37);
  const first = grow(random, 3);
  const editions = random.chance(0.5) ? 1 : 2 + random.int(2);
  const trees = [first];
  for (let i = 1; i < editions; i++) trees.push(edited(random, trees[i - 1] as Node));
  // After a branch is gone and back again its questions may be asked, and paid, once more.
  return program(`grown from ${seed}`, (ctx, env) => run(ctx, env, trees[env.edition] as Node), {
    editions,
    processes: () => ({ leaf: async (ctx) => await ctx.ask<string>("worker", ctx.input) }),
  });
}
