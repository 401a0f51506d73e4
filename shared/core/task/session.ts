// The fold of what is said in a session (I6a): turns that end, messages that come while one runs, and what is read when.
import { wellFormed } from "../json.ts";
import { append, type Header, type History, sealHistory } from "./header.ts";
import { feedbackMessage } from "./history.ts";
import type { Phase } from "./phase.ts";

/** What a session keeps beside its history. */
export interface Session {
  /** Messages that came while it worked: read when the turn is over, in order. */
  readonly mail: string[];
  /** Those that were to be read at the next step. */
  readonly steering: string[];
  closing: boolean;
  /** The last turn's answer, as it was shown. */
  shown: string;
}

export const newSession = (): Session => ({ mail: [], steering: [], closing: false, shown: "" });

/** What of a task's state a conversation moves. */
interface Talk {
  readonly header: Header;
  readonly history: History;
  readonly session: Session | null;
  phase: Phase;
  turnSteps: number;
}

/** A turn's end: what was shown is sealed, and messages that came meanwhile begin the next turn. */
export function turnOver(state: Talk, seq: number): void {
  sealHistory(state.header, state.history, seq);
  state.phase = { type: "input" };
  state.turnSteps = 0;
  const { session } = state;
  if (session === null) return;
  for (const text of [...session.steering.splice(0), ...session.mail.splice(0)]) speak(state, text);
}

export function heard(
  state: Talk,
  message: { readonly text: string; readonly close?: boolean | undefined; readonly steer?: boolean | undefined },
): void {
  const { session } = state;
  if (session === null) return;
  if (message.close === true) session.closing = true;
  if (message.text.trim() === "") return;
  if (state.phase.type === "input") speak(state, message.text);
  else if (message.steer === true) {
    session.steering.push(message.text);
    steer(state);
  } else session.mail.push(message.text);
}

/** Between an answer's calls and their results nothing else may be said. */
export function steer(state: Talk): void {
  if (state.phase.type !== "ask") return;
  for (const text of state.session?.steering.splice(0) ?? []) speak(state, text);
}

function speak(state: Talk, text: string): void {
  append(state.header, state.history, feedbackMessage(wellFormed(text)));
  state.phase = { type: "ask" };
}
