// What is known of a task at a place in its log: what the fold (state.ts) moves.
import type { Json } from "../json.ts";
import { NO_USAGE, type Usage } from "../messages.ts";
import { append, emptyHistory, type Header, type History, linkOf } from "./header.ts";
import { inputMessage } from "./history.ts";
import { EMPTY, type Ledger } from "./ledger.ts";
import type { OutputCheck } from "./output.ts";
import type { Decision, Phase } from "./phase.ts";
import { estimated, type Measured } from "./pressure.ts";
import { newSession, type Session } from "./session.ts";

export interface TaskState {
  readonly header: Header;
  readonly check: OutputCheck | null;
  readonly history: History;
  phase: Phase;
  /** Model calls answered, cut ones not counted: the next one is `s<steps>`. */
  steps: number;
  pauses: number;
  usage: Usage;
  /** Every tool use id of the raw log, cut parts included. */
  readonly usedIds: Set<string>;
  /** How many effective calls of equal tool and arguments there were: the idempotency key's last part. */
  readonly callCounts: Map<string, number>;
  /** Decisions of people by the key of what they decided; they outlive a cut. */
  readonly decisions: Map<string, Decision>;
  /** Keys of what people were asked to decide: each request has one of its own. */
  readonly asked: Set<string>;
  /** How often a call with this idempotency key was started, cut parts included. */
  readonly starts: Map<string, number>;
  readonly session: Session | null;
  /** Model calls answered in this turn: each turn has a fresh budget of steps. */
  turnSteps: number;
  /** Tries that failed since the last answer, and when the next one may begin. */
  failures: number;
  retryAt: number | null;
  /** Acquisitions that went live. */
  attempts: number;
  /** The question that the next answer belongs to. */
  asking: { readonly purpose: "step" | "summary"; readonly digest: string; readonly seq: number } | null;
  /** Under which name the provider has accepted it; null: it hasn't, or can't. */
  accepted: string | null;
  /** Answers about the conversation itself, by what was asked; cut ones too: the same question isn't paid twice (I5). */
  readonly summaries: Map<string, string>;
  /** How many of them there were. */
  summaryCalls: number;
  /** Calls whose results requests no longer hold. */
  readonly elided: Set<string>;
  /** Calls that began and have effects outside. */
  readonly external: Set<string>;
  /** Summaries that took the place of history since the last step was answered. */
  folds: number;
  measured: Measured;
  /** The window as a provider's refusals tell it, in tokens; null: it never refused. */
  windowSeen: number | null;
  ledger: Ledger;
}

export function initialState(header: Header, check: OutputCheck | null, input: Json, session = false): TaskState {
  const history = emptyHistory();
  append(header, history, inputMessage(input));
  return {
    header,
    check,
    history,
    phase: { type: "ask" },
    steps: 0,
    pauses: 0,
    usage: NO_USAGE,
    usedIds: new Set(),
    callCounts: new Map(),
    decisions: new Map(),
    asked: new Set(),
    starts: new Map(),
    session: session ? newSession() : null,
    turnSteps: 0,
    failures: 0,
    retryAt: null,
    attempts: 0,
    asking: null,
    accepted: null,
    summaries: new Map(),
    summaryCalls: 0,
    elided: new Set(),
    external: new Set(),
    folds: 0,
    measured: estimated(header),
    windowSeen: null,
    ledger: EMPTY,
  };
}

export const stepIdOf = (state: TaskState): string => `s${state.steps}`;
/** Of the next question about the conversation itself. */
export const summaryIdOf = (state: TaskState): string => `c${state.summaryCalls}`;
/** The name of the answer that the provider makes to this question already, though its worker died; null: there is none. */
export const acceptedAs = (state: TaskState, digest: string): string | null =>
  state.asking?.digest === digest ? state.accepted : null;
export const requestDigest = (state: TaskState): string => linkOf(state.header, state.history);
