// A log for machines: one JSON object a line, as CloudWatch and every collector reads it.
import { LOG_FIELD_MAX_CHARS } from "../../core/limits.ts";
import type { Log, LogFields } from "../../ports/log.ts";
import { redacted } from "./redact.ts";

export interface JsonLogOptions {
  /** Gets each line with its line feed. */
  write(line: string): void;
  /** On every line: which function, which worker. */
  readonly fields?: LogFields;
  /** What else is known about a record, by its own fields: the ids of its trace. */
  about?(fields: LogFields): LogFields | null;
}

/** `time`, `level` and `message` come first, and no field takes their place. A text longer than LOG_FIELD_MAX_CHARS is cut, what looks like a secret starred. */
export function createJsonLog({ write, fields: own = {}, about = () => null }: JsonLogOptions): Log {
  const at =
    (level: "info" | "warn" | "error") =>
    (message: string, fields: LogFields = {}): void => {
      const head = { time: new Date().toISOString(), level, message };
      const record = { ...head, ...own, ...fields, ...about(fields), ...head };
      write(`${JSON.stringify(record, shown)}\n`);
    };
  return { info: at("info"), warn: at("warn"), error: at("error") };
}

const shown = (_: string, value: unknown): unknown => {
  if (typeof value !== "string") return value;
  // Cut first: a document's worth of text isn't searched. What the cut leaves of a secret still begins like one.
  const text = value.length > LOG_FIELD_MAX_CHARS ? `${value.slice(0, LOG_FIELD_MAX_CHARS)}…` : value;
  return redacted(text);
};
