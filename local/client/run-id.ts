// Run ids as people type them: whole, or any beginning that only one run has.
import { TorenError } from "../../shared/core/errors.ts";
import { RUNS_PAGE_MAX } from "../../shared/core/limits.ts";
import type { Api } from "./api.ts";
import { UsageError } from "./usage-error.ts";

const WHOLE_CHARS = 36;
/** Runs looked at for a beginning, newest first. */
const PAGES_MAX = 25;

export async function wholeRunId(api: Api, typed: string): Promise<string> {
  const start = typed.toLowerCase();
  if (start.length >= WHOLE_CHARS) return start;
  if (!/^[0-9a-f-]+$/.test(start))
    throw new TorenError("run.unknown", `"${typed}" is no run's id. \`toren jobs list\` shows them.`);
  const found: string[] = [];
  let cursor: string | null = null;
  for (let page = 0; page < PAGES_MAX; page++) {
    const query: Record<string, string> = { limit: String(RUNS_PAGE_MAX), ...(cursor === null ? {} : { cursor }) };
    const { runs, next } = await api.list(query);
    found.push(...runs.map((run) => run.runId).filter((id) => id.startsWith(start)));
    if (next === null) break;
    cursor = next;
  }
  const [only, ...others] = found;
  if (only === undefined)
    throw new TorenError("run.unknown", `No run's id begins with "${typed}". \`toren jobs list\` shows them.`);
  if (others.length > 0)
    throw new UsageError(`${found.length} runs' ids begin with "${typed}": ${found.slice(0, 4).join(", ")} …`);
  return only;
}
