// The log of a server or worker: JSON lines for machines, short lines for who sits before it. Ids, codes and numbers only.
import { createJsonLog } from "../../shared/adapters/log/json.ts";
import { traceFields } from "../../shared/engine/telemetry.ts";
import type { Log, LogFields } from "../../shared/ports/log.ts";
import { styleOf } from "./style.ts";
import { type Output, oneLine } from "./terminal.ts";
import { shortId } from "./units.ts";

/** One JSON object a line on the output; lines for people where it is a terminal. */
export const createLog = (output: Output): Log => {
  if (output.size() !== null) return linesLog(output);
  return createJsonLog({ write: (line) => output.write(line), about: ({ runId }) => traceFields(runId) });
};

/** Only what went wrong, as text: for commands that show something else meanwhile. */
export const troubleLog = (say: (text: string) => void): Log => ({
  info: () => {},
  warn: (what, fields) => say(`${what}${fieldsText(fields)}`),
  error: (what, fields) => say(`${what}${fieldsText(fields)}`),
});

function linesLog(output: Output): Log {
  const style = styleOf(output);
  const write =
    (paint: (text: string) => string) =>
    (what: string, fields?: LogFields): void =>
      output.write(
        `${style.dim(new Date().toTimeString().slice(0, 8))} ${paint(oneLine(what))}${style.dim(fieldsText(fields))}\n`,
      );
  const info = write((text) => text);
  return {
    info: (what, fields = {}) => {
      if (what !== "worked") return info(what, fields);
      // One line a message is for machines. A person wants to know of runs.
      const { taskId, worked, agent, runId } = fields;
      if (taskId === null && worked === "ended") info("run ended", { agent, runId });
    },
    warn: write(style.yellow),
    error: write(style.red),
  };
}

const UUID = /^[0-9a-f]{8}-[0-9a-f-]{27}$/;

function fieldsText(fields: LogFields = {}): string {
  const said = Object.entries(fields).filter(([, value]) => value !== undefined && value !== null);
  const text = said.map(
    ([key, value]) => `${key}=${UUID.test(String(value)) ? shortId(String(value)) : oneLine(String(value))}`,
  );
  return text.length === 0 ? "" : `  ${text.join(" ")}`;
}
