// Programs whose tasks go through gates: places of a wave, of an agent and of a model, tokens a minute, and a provider that now and then wants to be left
// alone. Hints that call a turn are lost and doubled like all others, and whoever holds a place may die with it.
import type { ModelSettings } from "../../shared/core/model-settings.ts";
import { SCRIPT } from "../support/agents.ts";
import { ask, type Program, program, wave } from "./program.ts";

const settings = (more: Partial<ModelSettings>): ReadonlyMap<string, ModelSettings> =>
  new Map([
    [SCRIPT, { maxInFlight: null, tokensPerMinute: null, contextWindow: null, maxOutput: null, price: null, ...more }],
  ]);

const places = program(
  "a wave through gates with few places",
  async (ctx) => {
    const scripts = ["a", "b", "c", "d", "e"].map((id, i) => ({ id, rounds: i % 2 === 0 ? [["book", "look"]] : [] }));
    const { results } = await wave(ctx, "w", scripts, { maxParallel: 3 });
    return await ask(ctx, { id: results.map((r) => r.output).join("+"), rounds: [["post"]] });
  },
  {
    flow: {
      models: settings({ maxInFlight: 2 }),
      limits: { maxParallel: 4, maxCostUsd: null, totalTokens: null },
    },
    bounds: { inFlight: 2, throttled: 0.1, retryAfterMs: 8_000 },
  },
);

const rate = program(
  "waves side by side through one place and a rate",
  async (ctx) => {
    const some = async (name: string): Promise<string[]> => {
      const { results } = await wave(ctx, name, [{ id: `${name}1`, rounds: [["book"]] }, { id: `${name}2` }], {
        maxParallel: 1,
      });
      return results.map((r) => r.output ?? "");
    };
    return (await Promise.all([some("x"), some("y")])).flat();
  },
  {
    flow: { models: settings({ maxInFlight: 1, tokensPerMinute: 4_000 }) },
    bounds: { inFlight: 1, throttled: 0.05, retryAfterMs: 20_000 },
  },
);

/** The gates of a model without bounds are only looked at while it cools down. */
const cool = program(
  "a provider that wants to be left alone",
  async (ctx) => {
    const scripts = ["a", "b", "c", "d"].map((id) => ({ id, rounds: [["look"], ["book"]] }));
    return (await wave(ctx, "w", scripts)).results.map((r) => r.output ?? "");
  },
  { bounds: { inFlight: Number.POSITIVE_INFINITY, throttled: 0.3, retryAfterMs: 30_000 } },
);

export const GATE_PROGRAMS: readonly Program[] = [places, rate, cool];
