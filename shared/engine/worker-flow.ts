// The gates as one worker has them: what can be known here costs no statement. A gate without places and rate is only looked at while something cools
// down, and that is asked once a second at most; places are renewed for those streams that have some.
import { COOL_DOWNS_KEEP_MS, FLOW_SPREAD_MS } from "../core/limits.ts";
import type { CoolDowns, Flow, Gate } from "../ports/flow.ts";
import type { StreamRef } from "../ports/store.ts";

export interface WorkerFlowDeps {
  readonly flow: Flow;
  /** Milliseconds since any moment: it measures how old an answer is, and decides nothing that is due (I8). */
  elapsedMs(): number;
  /** In [0, 1): jitter. */
  random(): number;
}

/** Whether streams are counted at it. */
export const isCounted = (gate: Gate): boolean => gate.max !== null || gate.rate !== null;

const nameOf = ({ runId, streamId }: StreamRef): string => `${runId} ${streamId}`;

export function createWorkerFlow({ flow, elapsedMs, random }: WorkerFlowDeps): Flow {
  const inside = new Map<string, Set<string>>();
  const forget = (stream: StreamRef, keys: readonly string[]): void => {
    const name = nameOf(stream);
    const held = inside.get(name);
    for (const key of keys) held?.delete(key);
    if (held?.size === 0) inside.delete(name);
  };
  const remember = (stream: StreamRef, gates: readonly Gate[]): void => {
    const held = inside.get(nameOf(stream)) ?? new Set();
    for (const { key } of gates) held.add(key);
    inside.set(nameOf(stream), held);
  };

  let known: { readonly at: number; readonly answer: Promise<CoolDowns> } | null = null;
  /** As of now, at most COOL_DOWNS_KEEP_MS old. */
  const coolDowns = async (): Promise<CoolDowns> => {
    const asked = elapsedMs();
    if (known === null || asked - known.at > COOL_DOWNS_KEEP_MS) known = { at: asked, answer: flow.coolDowns() };
    const mine = known;
    try {
      const { now, until } = await mine.answer;
      return { now: now + Math.max(0, elapsedMs() - mine.at), until };
    } catch (e) {
      if (known === mine) known = null;
      throw e;
    }
  };
  /** Of gates that count nobody, the one that cools down the longest. */
  const cooling = async (gates: readonly Gate[]): Promise<{ gate: Gate; until: number; now: number } | null> => {
    if (gates.length === 0) return null;
    const { now, until } = await coolDowns();
    const hot = gates.flatMap((gate) => ({ gate, until: until.get(gate.key) ?? 0, now })).filter((g) => g.until > now);
    return hot.reduce<(typeof hot)[number] | null>((a, b) => (a === null || b.until > a.until ? b : a), null);
  };

  return {
    enter: async (stream, gates, leaseMs) => {
      const counted = gates.filter(isCounted);
      const hot = await cooling(gates.filter((g) => !isCounted(g)));
      if (counted.length === 0) {
        if (hot === null) return { type: "entered", called: [] };
        const retryAt = Math.ceil(hot.until + random() * FLOW_SPREAD_MS);
        return { type: "wait", key: hot.gate.key, retryAt, now: hot.now, called: [] };
      }
      const entered = await flow.enter(stream, hot === null ? counted : [...counted, hot.gate], leaseMs);
      if (entered.type === "entered") remember(stream, counted);
      else
        forget(
          stream,
          counted.map((g) => g.key),
        );
      return entered;
    },
    leave: (stream, keys, tokens) => {
      forget(stream, keys); // whatever becomes of it: a place that isn't given back runs out
      return flow.leave(stream, keys, tokens);
    },
    renew: async (streams, leaseMs) => {
      const worked = new Set(streams.map(nameOf));
      for (const name of inside.keys()) if (!worked.has(name)) inside.delete(name); // its writer let go of it
      const held = streams.filter((s) => inside.has(nameOf(s)));
      if (held.length > 0) await flow.renew(held, leaseMs);
    },
    coolDown: async (key, ms) => {
      await flow.coolDown(key, ms);
      known = null;
    },
    coolDowns,
  };
}
