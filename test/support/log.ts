// Logs for tests.
import type { Log, LogFields } from "../../shared/ports/log.ts";

export const silentLog: Log = { info: () => {}, warn: () => {}, error: () => {} };

export interface LogEntry {
  readonly level: "info" | "warn" | "error";
  readonly what: string;
  readonly fields: LogFields;
}

/** A log that can be read afterwards. */
export function recordingLog(): Log & { readonly entries: LogEntry[] } {
  const entries: LogEntry[] = [];
  const at =
    (level: LogEntry["level"]) =>
    (what: string, fields: LogFields = {}) => {
      entries.push({ level, what, fields });
    };
  return { entries, info: at("info"), warn: at("warn"), error: at("error") };
}
