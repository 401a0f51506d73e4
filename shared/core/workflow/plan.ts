// From decisions to what is recorded: wave numbers, task ids, and which tasks of cut plans a new plan takes over. Pure; the planning statement applies it.
//
// C1  First positions, over the cut plans of the same wave name, oldest first: a place keeps its own answer, so what follows keeps its digest.
// C2  Then content, in creation order, over every cut plan. Each pass is finished before the next begins.
// C3  A task is claimed at most once while its claim stands: `taken` holds those of every effective plan.
// C4  What one plan doesn't claim a later one may: nothing is given up here.
// C5  Only where somebody decided to keep (I6b): when all waves of the tick have claimed by content, a place that is still empty takes a recorded task of
//     the same role whose content it doesn't have: first that of the same place of a cut plan of the same name, then the oldest.
// C6  A child is claimed by process and input, the oldest first, under the same rules; where somebody decided to keep, the oldest of the same process.
import type { RunEvent } from "../events.ts";
import type { Json } from "../json.ts";
import type { Decision, WaveDecision } from "./decide.ts";
import type { ChildStarted, RunHistory } from "./fold.ts";

/** Ids read `w<wave>t<place>`; a new wave's number exceeds all of the raw log, so its ids are new. */
export const taskId = (wave: number, place: number): string => `w${wave}t${place}`;

interface Content {
  readonly digest: string;
}
export interface ClaimablePlan {
  readonly name: string;
  readonly tasks: readonly ({ readonly id: string } & Content)[];
}

/** For each task of the plan the id that it takes over, or null: it is new. `cut` in creation order. */
export function claims(
  cut: readonly ClaimablePlan[],
  taken: ReadonlySet<string>,
  plan: { readonly name: string; readonly tasks: readonly Content[] },
): (string | null)[] {
  const free = new Map<string, string>(); // id → digest, in creation order: an id is listed by every plan that ever held it
  for (const task of cut.flatMap((p) => p.tasks)) if (!taken.has(task.id)) free.set(task.id, task.digest);
  const result: (string | null)[] = plan.tasks.map(() => null);

  for (const { tasks } of cut.filter((p) => p.name === plan.name)) {
    for (const [i, wanted] of plan.tasks.entries()) {
      const id = tasks[i]?.id;
      if (result[i] !== null || id === undefined || free.get(id) !== wanted.digest) continue;
      free.delete(id);
      result[i] = id;
    }
  }
  const byContent = new Map<string, string[]>();
  for (const [id, digest] of [...free].reverse()) {
    const ids = byContent.get(digest);
    if (ids === undefined) byContent.set(digest, [id]);
    else ids.push(id); // oldest last: taken by pop
  }
  return plan.tasks.map((wanted, i) => result[i] ?? byContent.get(wanted.digest)?.pop() ?? null);
}

export interface FreshTask extends Content {
  readonly taskId: string;
  readonly role: string;
  readonly input: Json;
}
export interface WavePlan {
  readonly wave: number;
  readonly onTaskFailure: "fail" | "collect";
  /** Tasks of it that are worked on at once; null: no bound. */
  readonly maxParallel: number | null;
  readonly fresh: readonly FreshTask[];
  /** Tasks of cut plans that this wave takes over; ended ones stay as they are, parked ones are woken. */
  readonly claimed: readonly string[];
}
/** A recorded task, or a child by its run's id, that answers for what a place asks (C5, C6). `role`: of a child its process. */
export interface StandIn {
  readonly task: string;
  readonly role: string;
  readonly input: Json;
}
/** A child to be started. */
export interface NewChild {
  readonly runId: string;
  readonly process: string;
  readonly input: Json;
}
/** What of cut plans a new plan may take over, and what of it somebody decided to keep. */
export interface Claimable {
  /** Content of tasks, by their ids. It isn't looked at when nothing was cut. */
  readonly digests: ReadonlyMap<string, string>;
  /** Ids of children. Default: none. */
  readonly children?: ReadonlySet<string>;
  /** The roles of tasks, and the processes of children, that may stand in for others of the same (C5). Default: nobody decided so. */
  readonly keeping?: ReadonlyMap<string, string>;
}
export interface TickPlan {
  /** In the order of the decisions: the first has seq `history.head + 1`. */
  readonly events: readonly RunEvent[];
  /** Waves that need rows: empty ones are over as soon as they are recorded. */
  readonly waves: readonly WavePlan[];
  readonly children: readonly NewChild[];
  /** Children of cut starts that are taken over, by their runs' ids. */
  readonly adopted: readonly string[];
  readonly standIns: readonly StandIn[];
}

/** Gives a tick's decisions their ids. */
export function planTick(
  decisions: readonly Decision[],
  history: RunHistory,
  { digests, children: free = new Set(), keeping = new Map() }: Claimable,
): TickPlan {
  const cut = history.cutPlans.map(
    (plan): ClaimablePlan => ({
      name: plan.name,
      tasks: plan.tasks.map((id) => ({ id, digest: digests.get(id) ?? "" })),
    }),
  );
  const taken = new Set(history.taken);
  const claimed = new Map<WaveDecision, (string | null)[]>();
  for (const decision of decisions) {
    if (decision.type === "event") continue;
    const ids = cut.length > 0 ? claims(cut, taken, decision) : decision.tasks.map(() => null);
    for (const id of ids) if (id !== null) taken.add(id);
    claimed.set(decision, ids);
  }
  const standIns =
    keeping.size === 0
      ? []
      : standFor(cut, claimed, new Map([...keeping].filter(([id]) => digests.has(id) && !taken.has(id))));
  const { starts, children, adopted, kept } = claimChildren(decisions, history, free, keeping);
  const waves: WavePlan[] = [];
  let next = history.nextWave;
  const events = decisions.map((decision): RunEvent => {
    if (decision.type === "event") return starts.get(decision) ?? decision.event;
    const wave = next++;
    const ids = claimed.get(decision) ?? [];
    const tasks = ids.map((id, place) => id ?? taskId(wave, place));
    if (tasks.length > 0) waves.push(wavePlan(decision, wave, ids));
    const { after, digest, name, onTaskFailure, dueAt, maxParallel } = decision;
    return {
      type: "WavePlanned",
      after,
      digest,
      name,
      wave,
      tasks,
      onTaskFailure,
      ...(dueAt === undefined ? {} : { dueAt }),
      ...(maxParallel === null ? {} : { maxParallel }),
    };
  });
  return { events, waves, children, adopted, standIns: [...standIns, ...kept] };
}

/** C6: which starts take over a child of a cut start, and which are new. */
function claimChildren(
  decisions: readonly Decision[],
  { cutChildren, children: taken }: RunHistory,
  free: ReadonlySet<string>,
  keeping: ReadonlyMap<string, string>,
) {
  const wanted = decisions.flatMap((d) =>
    d.type === "event" && d.event.type === "ChildStarted" ? [{ decision: d, event: d.event }] : [],
  );
  const spare = new Map(cutChildren.filter(({ run }) => free.has(run) && !taken.has(run)).map((c) => [c.run, c])); // one may have been cut twice
  const starts = new Map<Decision, ChildStarted>();
  const kept: StandIn[] = [];
  const claim = (by: (start: ChildStarted) => string | undefined, noted: boolean): void => {
    const oldest = Map.groupBy([...spare.values()].reverse(), by); // last: taken by pop
    for (const { decision, event } of wanted) {
      const found = starts.has(decision) ? undefined : oldest.get(noted ? event.process : by(event))?.pop();
      if (found === undefined) continue;
      spare.delete(found.run);
      starts.set(decision, { ...event, run: found.run });
      if (noted) kept.push({ task: found.run, role: event.process, input: event.input });
    }
  };
  claim((start) => start.digest, false);
  if (keeping.size > 0) claim((cut) => keeping.get(cut.run), true);
  const children = wanted
    .filter(({ decision }) => !starts.has(decision))
    .map(({ event: { run: runId, process, input } }): NewChild => ({ runId, process, input }));
  return { starts, children, adopted: [...starts.values()].map(({ run }) => run), kept };
}

/** C5: fills empty places of `claimed`. `free`: who may, with their roles. */
function standFor(
  cut: readonly ClaimablePlan[],
  claimed: ReadonlyMap<WaveDecision, (string | null)[]>,
  free: Map<string, string>,
): StandIn[] {
  const standIns: StandIn[] = [];
  const fill = ({ tasks }: WaveDecision, ids: (string | null)[], place: number, id: string | undefined): void => {
    const wanted = tasks[place];
    if (wanted === undefined || id === undefined || ids[place] !== null || free.get(id) !== wanted.role) return;
    free.delete(id);
    ids[place] = id;
    standIns.push({ task: id, role: wanted.role, input: wanted.input });
  };
  for (const [wave, ids] of claimed)
    for (const { tasks } of cut.filter((p) => p.name === wave.name))
      for (const place of ids.keys()) fill(wave, ids, place, tasks[place]?.id);
  const inOrder = cut.flatMap((p) => p.tasks.map(({ id }) => id)).filter((id) => free.has(id));
  const oldest = Map.groupBy([...new Set(inOrder)].reverse(), (id) => free.get(id)); // by role, oldest last: taken by pop
  for (const [wave, ids] of claimed)
    for (const [place, { role }] of wave.tasks.entries())
      if (ids[place] === null) fill(wave, ids, place, oldest.get(role)?.pop());
  return standIns;
}

function wavePlan(decision: WaveDecision, wave: number, ids: readonly (string | null)[]): WavePlan {
  const fresh = decision.tasks.flatMap((task, place) =>
    ids[place] === null ? [{ taskId: taskId(wave, place), ...task }] : [],
  );
  const { onTaskFailure, maxParallel } = decision;
  return { wave, onTaskFailure, maxParallel, fresh, claimed: ids.filter((id) => id !== null) };
}
