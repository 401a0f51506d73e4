// What a task hears from outside (I3), as the events that absorb it. Which event it is doesn't depend on the state, so facts that wait at a resume are
// absorbed before the replay: a decision about a cut is then there when the cut is judged.
import type { ErrorInfo } from "../core/errors.ts";
import type { InboxItem, TaskEvent } from "../core/events.ts";

export type Absorbed =
  | { readonly type: "event"; readonly event: TaskEvent }
  | { readonly type: "cancel"; readonly inboxSeq: number; readonly error: ErrorInfo };

/** Cancels up to this inbox number were about the attempt before a retry; 0: there was none. */
export const retriedUpTo = (log: readonly TaskEvent[]): number =>
  log.reduce((upTo, e) => (e.type === "StreamInvalidated" ? Math.max(upTo, e.retry?.upTo ?? 0) : upTo), 0);

export function absorbed(
  { seq: inboxSeq, fact }: InboxItem,
  about: { readonly session: boolean; readonly cutAsked: boolean; readonly retriedUpTo: number },
): Absorbed {
  const event = (e: TaskEvent): Absorbed => ({ type: "event", event: e });
  const ignored = (reason: string): Absorbed => event({ type: "FactIgnored", inboxSeq, reason });
  switch (fact.kind) {
    case "cancel":
      if (inboxSeq <= about.retriedUpTo) return ignored("the run was retried since");
      return { type: "cancel", inboxSeq, error: { code: fact.code, message: fact.reason } };
    case "hold":
      return ignored("its plan was cut");
    case "claim":
      return ignored("claimed by a plan");
    case "decision": {
      const { key, granted, by, comment } = fact;
      return event({ type: "ApprovalResolved", key, granted, by, comment, inboxSeq });
    }
    case "cutDecision":
      return about.cutAsked
        ? event({ type: "CutDecided", decision: fact.decision, by: fact.by, inboxSeq })
        : ignored("no cut waits for a decision");
    case "message": {
      if (!about.session) return ignored("a message concerns sessions only");
      const { text, close, steer } = fact;
      return event({ type: "UserMessage", text, inboxSeq, ...(close ? { close } : {}), ...(steer ? { steer } : {}) });
    }
    case "wave":
    case "child":
    case "signal":
      return ignored(`a ${fact.kind} concerns runs only`);
  }
}
