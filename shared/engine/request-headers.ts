// What requests begin with is kept once, not with every request: its digest stands in TaskStarted, its text in a table that people read with SQL.
import { REMEMBERED_HEADERS } from "../core/limits.ts";
import type { Header } from "../core/task/header.ts";
import type { TaskStore } from "../ports/store.ts";

/** What this worker knows to be kept, by store: agent and digest. */
const kept = new WeakMap<TaskStore, Set<string>>();

/** Before the append that names its digest. @throws TorenError `payload.too_large`, `database.unavailable` */
export async function keepHeader(tasks: TaskStore, agent: string, header: Header): Promise<void> {
  const known = kept.get(tasks) ?? new Set<string>();
  kept.set(tasks, known);
  const key = `${agent} ${header.digest}`;
  if (known.has(key)) return;
  const { digest, model, system, tools, options, maxTokens, outputSchema } = header;
  await tasks.keepHeader(agent, { digest, model, system, tools, options, maxTokens, outputSchema });
  known.add(key);
  for (const oldest of known) {
    if (known.size <= REMEMBERED_HEADERS) return;
    known.delete(oldest); // kept again when it comes again: that changes nothing
  }
}
