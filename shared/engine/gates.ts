// What a task passes on its way to work and to a model. It enters before what the gate counts begins, and leaves when that is over, however it ended; who has
// to wait parks until its turn (I10). Calls of others' turns are hints like any (I9).
import { messageOf } from "../core/errors.ts";
import type { ModelSettings } from "../core/model-settings.ts";
import type { AgentDefinition } from "../ports/agents.ts";
import type { Call, Gate } from "../ports/flow.ts";
import type { StreamRef, TaskSpec } from "../ports/store.ts";
import type { EngineDeps } from "./deps.ts";
import { hintOf, nudge, nudgeAt } from "./hints.ts";
import type { Wake } from "./park-stream.ts";
import { isCounted } from "./worker-flow.ts";

const modelKey = (name: string): string => `model:${name}`;

/** One call to a model; `tokens`: what it may use at most. Without settings only a cool-down holds it back. */
export function modelGate(name: string, settings: ModelSettings | undefined, tokens: number): Gate {
  const perMinute = settings?.tokensPerMinute ?? null;
  const rate = perMinute === null ? null : { perMinute, tokens };
  return { key: modelKey(name), max: settings?.maxInFlight ?? null, rate };
}

/** A task of a wave that is worked on; null: the wave has no bound. */
export const waveGate = (runId: string, wave: TaskSpec["wave"]): Gate | null =>
  wave === null || wave.maxParallel === null
    ? null
    : { key: `wave:${runId}:${wave.number}`, max: wave.maxParallel, rate: null };

/** A task of an agent that is worked on; null: the agent has no bound. */
export const agentGate = ({ name, limits }: AgentDefinition): Gate | null =>
  limits.maxParallel === null ? null : { key: `agent:${name}`, max: limits.maxParallel, rate: null };

type GateDeps = Pick<EngineDeps, "flow" | "queue" | "timers" | "log" | "leaseMs">;

/** Why a stream can't go in, and when it looks again if nobody calls it before: park until then. */
export interface Waiting {
  readonly key: string;
  readonly wake: Wake;
}

/**
 * All of the gates or none. Null: the stream is inside. Else it holds none of them any more, and has its turn in a queue: park it, and don't leave the gates.
 * @throws TorenError `database.unavailable`: nothing has begun, the hint comes again.
 */
export async function enterGates(deps: GateDeps, stream: StreamRef, gates: readonly Gate[]): Promise<Waiting | null> {
  const entered = await deps.flow.enter(stream, gates, deps.leaseMs);
  await call(deps, entered.called);
  if (entered.type === "entered") return null;
  return { key: entered.key, wake: { at: entered.retryAt, now: entered.now } };
}

/**
 * Gives back places and turns, and calls who comes next. `tokens`: what was really used, by gate. Never rejects: an answer in hand is worth more than a
 * place, and one that isn't given back runs out with its lease.
 */
export async function leaveGates(
  deps: GateDeps,
  stream: StreamRef,
  gates: readonly Gate[],
  tokens?: Readonly<Record<string, number>>,
): Promise<void> {
  const keys = gates.filter(isCounted).map((gate) => gate.key);
  if (keys.length === 0) return;
  try {
    await call(deps, await deps.flow.leave(stream, keys, tokens));
  } catch (thrown) {
    deps.log.warn("gates not left", { runId: stream.runId, streamId: stream.streamId, error: messageOf(thrown) });
  }
}

/** A provider asked for patience: nobody asks this model before `ms` have passed. Never rejects: then the others find out by themselves. */
export async function coolModel(deps: GateDeps, name: string, ms: number): Promise<void> {
  try {
    await deps.flow.coolDown(modelKey(name), ms);
  } catch (thrown) {
    deps.log.warn("model not cooled down", { model: name, error: messageOf(thrown) });
  }
}

/** A call that isn't sent is made again by whoever comes next to the gate. */
async function call(deps: GateDeps, calls: readonly Call[]): Promise<void> {
  if (calls.length === 0) return;
  const hint = ({ stream: { agent, runId, streamId } }: Call) => hintOf(agent, runId, streamId);
  try {
    await nudge(deps, calls.filter(({ at, now }) => at <= now).map(hint));
    for (const later of calls.filter(({ at, now }) => at > now)) await nudgeAt(deps, hint(later), later.at, later.now);
  } catch (thrown) {
    deps.log.warn("turns not called", { streams: calls.length, error: messageOf(thrown) });
  }
}
