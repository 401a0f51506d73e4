// A deployed function's log, for CloudWatch and whoever reads there. A line about a run that is worked on carries the ids of its trace, where there is one.
import { createJsonLog as createLog } from "../shared/adapters/log/json.ts";
import { traceFields } from "../shared/engine/telemetry.ts";
import type { Log, LogFields } from "../shared/ports/log.ts";

/** `fields`: on every line. */
export const createJsonLog = (fields: LogFields, write: (line: string) => void = toStdout): Log =>
  createLog({ fields, write, about: ({ runId }) => traceFields(runId) });

// Lambda's own console would put a prefix before each line.
function toStdout(line: string): void {
  process.stdout.write(line);
}
