// Forgetting runs: one that somebody names, those of before some time, and those that an agent's own rule no longer keeps. Always whole runs that have
// ended, a bounded batch a statement, so that nothing waits long for the rows.
import { TorenError } from "../core/errors.ts";
import { ERASE_BATCH_EVENTS, ERASE_BATCH_RUNS, RETENTION_BATCHES_MAX } from "../core/limits.ts";
import type { Told } from "./cancel-run.ts";
import type { EngineDeps } from "./deps.ts";
import { eachAgent } from "./each-agent.ts";

type EraseDeps = Pick<EngineDeps, "store" | "files">;

export async function eraseRun(deps: EraseDeps, { agent, runId }: { agent: string; runId: string }): Promise<Told> {
  const batch = { runs: 1, events: 1, dryRun: false };
  const erased = await deps.store.erasure.erase(agent, { runIds: [runId] }, batch);
  if (erased.length > 0) {
    await forgetFiles(deps, erased);
    return { type: "told" };
  }
  const row = await deps.store.runs.get(agent, runId);
  if (row === null) return { type: "refused", error: { code: "run.unknown", message: `There is no run ${runId}.` } };
  if (row.parent !== null) {
    const message = `Run ${runId} is a child of run ${row.parent}, whose log names it: erase that one, and its children go with it.`;
    return { type: "refused", error: { code: "run.is_a_child", message } };
  }
  const message =
    row.endedAt === null
      ? `Run ${runId} is ${row.status}: only a run that has ended can be erased. \`toren jobs cancel ${runId}\` ends it.`
      : `Run ${runId} has ended, and tasks or children of it are still being stopped. Erase it in a moment.`;
  return { type: "refused", error: { code: row.endedAt === null ? "run.not_ended" : "run.stopping", message } };
}

export interface Pruned {
  readonly runs: number;
  readonly events: number;
  /** There may be more: ask again. Never of a look alone. */
  readonly more: boolean;
}

/** One batch. A look alone (`dryRun`) counts what there is, up to its bound. */
export async function pruneRuns(
  deps: EraseDeps,
  { agent, olderThanMs, dryRun }: { agent: string; olderThanMs: number; dryRun: boolean },
): Promise<Pruned> {
  const batch = dryRun
    ? { runs: ERASE_BATCH_RUNS * RETENTION_BATCHES_MAX, events: Number.MAX_SAFE_INTEGER, dryRun }
    : { runs: ERASE_BATCH_RUNS, events: ERASE_BATCH_EVENTS, dryRun };
  const erased = await deps.store.erasure.erase(agent, { olderThanMs }, batch);
  if (!dryRun) await forgetFiles(deps, erased);
  const events = erased.reduce((sum, run) => sum + run.events, 0);
  return { runs: erased.length, events, more: erased.length > 0 && !dryRun };
}

/** What agents' rules (`retention` in agent.yaml) no longer keep, bounded: what is left over goes the next time. */
export async function retain(deps: EraseDeps & Pick<EngineDeps, "agents" | "log">): Promise<void> {
  await eachAgent(deps, async (agent) => {
    const olderThanMs = deps.agents.get(agent)?.agent.retentionMs;
    let runs = 0;
    for (let batches = 0; olderThanMs !== undefined && batches < RETENTION_BATCHES_MAX; batches++) {
      const pruned = await pruneRuns(deps, { agent, olderThanMs, dryRun: false });
      runs += pruned.runs;
      if (!pruned.more) break;
    }
    if (runs > 0) deps.log.info("old runs were erased", { agent, runs });
    return runs;
  });
}

/** Files that only these runs had. One that can't be removed now is a file that nobody has, as any other that was never attached. */
async function forgetFiles(
  { files }: EraseDeps,
  erased: readonly { readonly files: readonly string[] }[],
): Promise<void> {
  for (const id of new Set(erased.flatMap((run) => run.files))) {
    await files.forget(id).catch((e) => {
      if (!(e instanceof TorenError)) throw e;
    });
  }
}
