// A deployed function's log: one JSON object a line, for CloudWatch and whoever reads there.
import { LOG_FIELD_MAX_CHARS } from "../shared/core/limits.ts";
import type { Log, LogFields } from "../shared/ports/log.ts";

/** `fields`: on every line. */
export function createJsonLog(fields: LogFields, write: (line: string) => void = toStdout): Log {
  const at =
    (level: "info" | "warn" | "error") =>
    (message: string, more: LogFields = {}): void =>
      write(`${JSON.stringify({ time: new Date().toISOString(), level, message, ...fields, ...more }, brief)}\n`);
  return { info: at("info"), warn: at("warn"), error: at("error") };
}

// Lambda's own console would put a prefix before each line.
const toStdout = (line: string): void => void process.stdout.write(line);

const brief = (_: string, value: unknown): unknown =>
  typeof value === "string" && value.length > LOG_FIELD_MAX_CHARS ? `${value.slice(0, LOG_FIELD_MAX_CHARS)}…` : value;
