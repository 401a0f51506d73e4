// Hot reload: whoever edits an agent sees the change in the next step. On a problem the old code keeps running.
import { type FSWatcher, watch } from "node:fs";
import { join, resolve, sep } from "node:path";
import type { LoadProblem } from "../shared/authoring/problem.ts";
import { messageOf, TorenError } from "../shared/core/errors.ts";
import { RELOAD_DEBOUNCE_MS } from "../shared/core/limits.ts";
import type { AgentDefinition } from "../shared/ports/agents.ts";
import {
  agentNames,
  gathered,
  type LoadedAgent,
  type LoadedAgents,
  type LoadOptions,
  loadAgent,
} from "./load/load-agents.ts";

export type AgentChange =
  | { readonly type: "loaded"; readonly agent: AgentDefinition }
  /** The agent's files don't make an agent now. */
  | { readonly type: "broken"; readonly name: string; readonly problems: readonly LoadProblem[] }
  /** Nothing is watched any more; restart to see changes. */
  | { readonly type: "blind"; readonly message: string };

export interface AgentWatch {
  /** What was there when the watching began. */
  readonly initial: LoadedAgents;
  /** Resolves when no reload is under way any more. */
  close(): Promise<void>;
}

/**
 * Loads the agents, then calls back, one change after another, when an agent's files have changed in their meaning: formatting and comments alone are
 * no change. A change during the first loading isn't missed, and `onInitial` is done before the first call back.
 * @throws TorenError `agent.invalid` when the folder isn't there
 */
export async function watchAgents(
  agentsFolder: string,
  options: LoadOptions,
  onChange: (change: AgentChange) => void | Promise<void>,
  onInitial: (initial: LoadedAgents) => void | Promise<void> = () => undefined,
): Promise<AgentWatch> {
  const folder = resolve(agentsFolder);
  const names = await agentNames(folder);
  if (names === null)
    throw new TorenError("agent.invalid", `there is no folder ${folder}: agents live in agents/<name>/`);
  const seen = new Map<string, Seen>();
  const watching = onceQuiet(folder, (paths) => reload(paths, folder, options, seen, onChange), onChange);
  const first: LoadedAgent[] = [];
  await watching.alone(async () => {
    for (const name of names) first.push(await loadAgent(join(folder, name), options));
    for (const loaded of first) remember(seen, loaded);
    await onInitial(gathered(first));
  });
  return { initial: gathered(first), close: watching.close };
}

/** Calls `then` with the paths that changed, when no further change has come for a moment; never twice at a time. */
function onceQuiet(
  folder: string,
  then: (paths: readonly string[]) => Promise<void>,
  onChange: (change: AgentChange) => void | Promise<void>,
): { alone(work: () => Promise<void>): Promise<void>; close(): Promise<void> } {
  const touched = new Set<string>();
  let timer: NodeJS.Timeout | undefined;
  let last: Promise<void> = Promise.resolve();
  let closed = false;
  const blind = async (message: string): Promise<void> => onChange({ type: "blind", message });
  const alone = (work: () => Promise<void>): Promise<void> => {
    const done = last.then(work);
    last = done.catch(() => undefined);
    return done;
  };
  const quiet = (): void => {
    void alone(async () => {
      const paths = [...touched];
      touched.clear();
      if (closed) return;
      // A file that was replaced by another (as editors and sed do) isn't watched any more: watch anew, before the reading, so that nothing falls between.
      const before = watcher;
      watcher = open();
      before.close();
      await then(paths);
    }).catch((thrown) => blind(`a reload failed: ${messageOf(thrown)}`));
  };
  const open = (): FSWatcher =>
    watch(folder, { recursive: true })
      .on("change", (_event, file) => {
        touched.add(file === null ? folder : join(folder, String(file)));
        clearTimeout(timer);
        timer = setTimeout(quiet, RELOAD_DEBOUNCE_MS);
      })
      .on("error", (error) => void blind(`${folder} can't be watched any more: ${messageOf(error)}`));
  let watcher = open();
  const close = async (): Promise<void> => {
    closed = true;
    clearTimeout(timer);
    watcher.close();
    await last;
  };
  return { alone, close };
}

async function reload(
  paths: readonly string[],
  folder: string,
  options: LoadOptions,
  seen: Map<string, Seen>,
  onChange: (change: AgentChange) => void | Promise<void>,
): Promise<void> {
  for (const name of affected(paths, folder, seen, (await agentNames(folder)) ?? [])) {
    const before = seen.get(name)?.state;
    const loaded = await loadAgent(join(folder, name), options);
    if (remember(seen, loaded) !== before) await onChange(changeOf(loaded));
  }
}

interface Seen {
  /** The code's hash, or the problems' text: what was last told. */
  readonly state: string;
  readonly inputs: readonly string[];
}

function remember(seen: Map<string, Seen>, { name, agent, problems, inputs }: LoadedAgent): string {
  const state = agent === null ? JSON.stringify(problems) : agent.codeHash;
  // A broken agent's list of inputs may be short: what it was made of before still counts.
  seen.set(name, {
    state,
    inputs: agent === null ? [...new Set([...inputs, ...(seen.get(name)?.inputs ?? [])])] : inputs,
  });
  return state;
}

const changeOf = ({ name, agent, problems }: LoadedAgent): AgentChange =>
  agent === null ? { type: "broken", name, problems } : { type: "loaded", agent };

/** Agents whose folder a change lies in, or that were made of a changed file elsewhere; all of them where it isn't known what changed. */
function affected(
  paths: readonly string[],
  folder: string,
  seen: ReadonlyMap<string, Seen>,
  present: readonly string[],
): string[] {
  const names = new Set([...present, ...seen.keys()]);
  const isAffected = (name: string): boolean =>
    paths.some(
      (path) =>
        path === folder ||
        path === join(folder, name) ||
        path.startsWith(join(folder, name) + sep) ||
        seen.get(name)?.inputs.includes(path),
    );
  return [...names].filter(isAffected).sort();
}
