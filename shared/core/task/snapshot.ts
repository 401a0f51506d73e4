// A parked session's state as a value, so that its next turn doesn't fold the whole conversation again: a cache of the log's fold (I1), never the truth.
// It is taken where everything is sealed (I6a), so nothing before it is ever held against code again, nor cut.
import type { Json } from "../json.ts";
import type { Message, Usage } from "../messages.ts";
import { type Header, sealHistory } from "./header.ts";
import type { Ledger } from "./ledger.ts";
import type { OutputCheck } from "./output.ts";
import type { Decision } from "./phase.ts";
import { estimated, type Measured } from "./pressure.ts";
import type { Session } from "./session.ts";
import { initialState, type TaskState } from "./task-state.ts";

/** Goes up when the same log folds to another state: older snapshots are ignored then. test/vectors/snapshot.json tells when. */
export const FOLD_VERSION = 2;

export interface Snapshot {
  /** The last event that is in it. */
  readonly seq: number;
  /** Facts absorbed up to there. */
  readonly absorbed: number;
  readonly state: Json;
}

interface Kept {
  readonly messages: readonly Message[];
  readonly sealedAt: number;
  readonly steps: number;
  readonly usage: Usage;
  readonly usedIds: readonly string[];
  readonly callCounts: readonly (readonly [string, number])[];
  readonly decisions: readonly (readonly [string, Decision])[];
  readonly asked: readonly string[];
  readonly starts: readonly (readonly [string, number])[];
  readonly session: Session;
  readonly attempts: number;
  readonly summaryCalls: number;
  readonly elided: readonly string[];
  readonly external: readonly string[];
  readonly measured: Measured | null;
  readonly windowSeen: number | null;
  readonly ledger: Ledger;
}

/** Null: it isn't where a snapshot may be taken. */
export function snapshotOf(state: TaskState): Json | null {
  const { history, session, phase } = state;
  if (session === null || phase.type !== "input" || history.sealed !== history.messages.length) return null;
  const { steps, usage, attempts, summaryCalls, measured, windowSeen, ledger } = state;
  const shown = new Set(
    history.messages.flatMap((m) => m.content.flatMap((p) => (p.type === "toolResult" ? [p.toolUseId] : []))),
  );
  const kept: Kept = {
    messages: history.messages,
    sealedAt: history.sealedAt,
    steps,
    usage,
    usedIds: [...state.usedIds],
    callCounts: [...state.callCounts],
    decisions: [...state.decisions],
    asked: [...state.asked],
    starts: [...state.starts],
    session,
    attempts,
    summaryCalls,
    elided: [...state.elided].filter((id) => shown.has(id)),
    external: [...state.external].filter((id) => shown.has(id)),
    measured: measured.upTo === 0 ? null : measured, // an estimate is of today's header
    windowSeen,
    ledger,
  };
  return kept as unknown as Json;
}

/** As the fold of the log up to there, under today's header. */
export function stateFrom(snapshot: Snapshot, header: Header, check: OutputCheck | null): TaskState {
  const kept = snapshot.state as unknown as Kept;
  const state = initialState(header, check, null, true);
  const { history } = state;
  history.messages.splice(0, Infinity, ...kept.messages);
  history.links.length = 0;
  history.links.push(...kept.messages.map(() => ""));
  sealHistory(header, history, kept.sealedAt);
  const { steps, usage, attempts, summaryCalls, windowSeen, ledger } = kept;
  return Object.assign(state, {
    phase: { type: "input" as const },
    steps,
    usage,
    usedIds: new Set(kept.usedIds),
    callCounts: new Map(kept.callCounts),
    decisions: new Map(kept.decisions),
    asked: new Set(kept.asked),
    starts: new Map(kept.starts),
    session: { ...kept.session, mail: [...kept.session.mail], steering: [...kept.session.steering] },
    attempts,
    summaryCalls,
    elided: new Set(kept.elided),
    external: new Set(kept.external),
    measured: kept.measured === null ? estimated(header) : { ...kept.measured },
    windowSeen,
    ledger,
  });
}
