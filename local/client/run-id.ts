// Run ids as people type them: whole, or any beginning that only one run has.
import { TorenError } from "../../shared/core/errors.ts";
import { RUNS_PAGE_MAX } from "../../shared/core/limits.ts";
import type { Api } from "./api.ts";
import { UsageError } from "./usage-error.ts";

const WHOLE_CHARS = 36;
/** From so many digits on the server looks for an id by its beginning, however old the run is. */
const FOUND_DIGITS = 4;
/** Looked at of what it finds, or of all runs where fewer are given, newest first. */
const PAGES_MAX = 25;

export async function wholeRunId(api: Api, typed: string): Promise<string> {
  const start = typed.toLowerCase();
  if (start.length >= WHOLE_CHARS) return start;
  if (!/^[0-9a-f-]+$/.test(start))
    throw new TorenError("run.unknown", `"${typed}" is no run's id. \`toren jobs list\` shows them.`);
  const text = start.replaceAll("-", "").length >= FOUND_DIGITS ? { text: start } : {};
  const found: string[] = [];
  let cursor: string | null = null;
  for (let page = 0; page < PAGES_MAX; page++) {
    const { runs, next } = await api.list({ ...text, limit: RUNS_PAGE_MAX, ...(cursor === null ? {} : { cursor }) });
    found.push(...runs.map((run) => run.runId).filter((id) => id.startsWith(start)));
    cursor = next;
    if (next === null) break;
  }
  const [only, ...others] = found;
  if (only === undefined) {
    const none = cursor === null ? "No run's id begins" : "None of the newest runs' ids begins";
    const more = cursor === null ? "`toren jobs list` shows them" : "Give more of the id";
    throw new TorenError("run.unknown", `${none} with "${typed}". ${more}.`);
  }
  if (others.length > 0)
    throw new UsageError(`${found.length} runs' ids begin with "${typed}": ${found.slice(0, 4).join(", ")} …`);
  return only;
}
