// What the simulation knows beyond the log: which question went out with which prompt, and that its scripts never make the same call twice.
import type { EventDump, RunDump } from "../support/log-checker.ts";
import { effectiveEvents } from "../support/log-checker-task.ts";
import type { Entry } from "./provider.ts";

export function checkQuestions(dump: readonly RunDump[], ledger: readonly Entry[]): string[] {
  const systems = new Map(ledger.map((entry) => [entry.digest, entry.system]));
  return dump.flatMap((run) =>
    run.streams.flatMap(({ streamId, events }) => [
      ...onePrompt(effectiveEvents(events), systems).map((what) => `${streamId}: ${what}`),
      ...oneKey(events).map((what) => `${streamId}: ${what}`),
    ]),
  );
}

/** I6: what stands after the cuts was all asked with one prompt. */
function onePrompt(events: readonly EventDump[], systems: ReadonlyMap<string, string>): string[] {
  const asked = events.flatMap((e) =>
    e.type === "LlmCallStarted" ? (systems.get(String(e.payload.requestDigest)) ?? []) : [],
  );
  const different = new Set(asked);
  return different.size > 1 ? [`I6: one conversation was led with ${[...different].join(" and with ")}`] : [];
}

/** The same call has the same key through retries, resumes and cuts. */
function oneKey(events: readonly EventDump[]): string[] {
  const keys = new Map<string, unknown>();
  return events.flatMap(({ type, payload }) => {
    if (type !== "ToolCallStarted") return [];
    const call = `${String(payload.tool)} ${JSON.stringify(payload.args)}`;
    const known = keys.get(call) ?? payload.idempotencyKey;
    keys.set(call, known);
    return known === payload.idempotencyKey ? [] : [`${call} has two keys`];
  });
}
