// The demo's course: start, kill, take over, kill and edit, end. Each blow falls when the log says so; one that the log gives no chance for is told, and left out.
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { TorenError } from "../../shared/core/errors.ts";
import { RUNS_PAGE_MAX } from "../../shared/core/limits.ts";
import type { RunJson } from "../../shared/http/run-json.ts";
import { type LocalFile, upload } from "../client/upload.ts";
import { OWN_LEASE_MS } from "../own-stage.ts";
import type { Screen } from "../terminal/steps-screen.ts";
import { oneLine } from "../terminal/terminal.ts";
import type { WaveNames } from "../terminal/tree.ts";
import { counted, duration, grouped, shortId } from "../terminal/units.ts";
import type { Worker } from "../worker-process.ts";
import { type Books, booksOf } from "./books.ts";
import {
  askedIn,
  inUseIn,
  type Moment,
  type Reading,
  recordedIn,
  researchMoment,
  resumed,
  type TaskLog,
  writerMoment,
} from "./moments.ts";
import { DEMO_TASKS, type PromptEdit, type Stage } from "./stage.ts";
import { DemoFailed, type Watch, watchRun } from "./watch.ts";

export interface Kill {
  readonly pid: number;
  readonly when: "researchers" | "writer";
  /** Tasks of that role that were recorded to the end, of how many. */
  readonly ended: number;
  readonly of: number;
  /** Questions that the dead worker had sent and not recorded. */
  readonly inFlight: number;
  /** From the kill until another worker had taken everything over; null: it wasn't waited for. */
  takeOverMs: number | null;
}

export interface Edited extends PromptEdit {
  /** Answers recorded before the edit that the run was finished with. */
  readonly replayed: number;
  /** Answers recorded after it. */
  readonly paid: number;
}

export interface Story {
  readonly run: RunJson;
  readonly names: WaveNames;
  readonly kills: readonly Kill[];
  readonly edited: Edited | null;
  /** Null: the model isn't ours, so there is no ledger to compare with. */
  readonly books: Books | null;
  /** Of all workers, in the order of their start. */
  readonly pids: readonly number[];
}

export interface Telling {
  readonly stage: Stage;
  readonly screen: Screen;
  readonly question: string;
  readonly files: readonly LocalFile[];
  readonly signal: AbortSignal;
}

/** The whole run, its blows included. With the rule-based model it takes half a minute; another one may be slow. */
const LIMIT_MS = { own: 110_000, others: 30 * 60_000 } as const;
/** A lease, a pass of the guardian, and room. */
const EARLIER_MS = 60_000;
const EARLIER_READ_MS = 250;
/** What a worker had sent to the database when it was killed is there after that. */
const SETTLE_MS = 100;

export async function tell(telling: Telling): Promise<Story> {
  const { stage, screen, signal } = telling;
  const cast = createCast(telling);
  await cast.start(`: ${DEMO_TASKS} tasks at once, a lease of ${OWN_LEASE_MS / 1_000} s (30 s by default)`);
  await endEarlier(telling);
  const before = (await stage.ledger())?.length ?? null;
  const runId = await startRun(telling);
  const limitMs = before === null ? LIMIT_MS.others : LIMIT_MS.own;
  const watch = watchRun(stage, screen, runId, limitMs, signal);
  const scene: Scene = { ...telling, cast, watch, before };

  const kills: Kill[] = [];
  const first = await strike(scene, "researchers", researchMoment);
  if (first !== null) kills.push(first.kill);
  if (first !== null) await takeOver(scene, first);
  const second = await strike(scene, "writer", writerMoment);
  if (second !== null) kills.push(second.kill);
  const edited = second === null ? null : await editAndFinish(scene, second);
  await watch.until((reading) => (reading.ended ? true : null), cast.current());

  const { run, names } = await watch.view();
  screen.run(run, names);
  screen.clear();
  const ledger = await stage.ledger();
  const books = ledger === null ? null : booksOf(ledger.slice(before ?? 0), run.receipt);
  return { run, names, kills, edited, books, pids: cast.pids };
}

/** A demo that was killed or stopped left a run that our worker would finish, and the ledger would hold its calls too. */
async function endEarlier({ stage, screen, signal }: Telling): Promise<void> {
  const unfinished = async () =>
    (await stage.api.list({ agent: stage.agent, limit: String(RUNS_PAGE_MAX) })).runs.filter(
      (run) => run.endedAt === null,
    );
  const deadline = performance.now() + EARLIER_MS;
  for (let told = false; ; told = true) {
    signal.throwIfAborted();
    const runs = await unfinished();
    if (runs.length === 0) return;
    if (!told) {
      const ids = runs.map(({ runId }) => shortId(runId)).join(", ");
      screen.step(
        "earlier",
        `the demo before left ${ids} unfinished: cancelled, so that the books hold this run alone`,
      );
      for (const { runId } of runs)
        await stage.api.cancel(runId, "its demo was ended before it was").catch(ignoreEnded);
    }
    if (performance.now() > deadline)
      throw new DemoFailed(`Runs of an earlier demo don't end: ${runs.map(({ runId }) => runId).join(", ")}.`);
    await sleep(EARLIER_READ_MS);
  }
}

const ignoreEnded = (thrown: unknown): void => {
  if (!(thrown instanceof TorenError) || thrown.code !== "run.ended") throw thrown;
};

interface Cast {
  readonly pids: number[];
  current(): Worker;
  /** Another worker; `does` is said of it. */
  start(does: string): Promise<Worker>;
}

function createCast({ stage, screen, signal }: Telling): Cast {
  const workers: Worker[] = [];
  const pids: number[] = [];
  return {
    pids,
    current: () => {
      const last = workers.at(-1);
      if (last === undefined) throw new Error("no worker was started");
      return last;
    },
    start: async (does) => {
      signal.throwIfAborted();
      const worker = await stage.startWorker();
      workers.push(worker);
      pids.push(worker.pid);
      screen.step("worker", `pid ${worker.pid}${does}`);
      return worker;
    },
  };
}

async function startRun({ stage, screen, question, files }: Telling): Promise<string> {
  const ids = await upload(stage.api, files);
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  screen.step("files", `${counted(files.length, "document")}, ${grouped(Math.ceil(bytes / 1_000))} kB, uploaded`);
  screen.step("question", oneLine(question));
  const { runId } = await stage.api.start({ agent: stage.agent, input: question, files: ids }, randomUUID());
  screen.gap();
  screen.step("run", `${shortId(runId)}: a planner, then researchers in parallel, a writer`);
  return runId;
}

interface Scene extends Telling {
  readonly cast: Cast;
  readonly watch: Watch;
  /** Length of the ledger before the run; null: there is none. */
  readonly before: number | null;
}

interface Struck {
  readonly kill: Kill;
  readonly at: number;
  /** What the dead worker left, by the log after its death. */
  readonly reading: Reading;
  readonly left: readonly TaskLog[];
}

/** Kills the worker at the moment; null when the moment never came. */
async function strike(scene: Scene, when: Kill["when"], moment: (reading: Reading) => Moment): Promise<Struck | null> {
  const { screen, watch, cast } = scene;
  const worker = cast.current();
  const found = await watch.until(async (reading) => {
    const now = moment(reading);
    if (now.type === "wait") return null;
    return now.type === "missed" || (await hasArrived(scene, reading)) ? now : null;
  }, worker);
  if (found.type !== "now") {
    screen.step("no kill", MISSED[when]);
    return null;
  }
  await worker.kill();
  const at = performance.now();
  await sleep(SETTLE_MS);
  const reading = await watch.read();
  const left = reading.tasks.filter((task) => task.inFlight);
  const kill: Kill = {
    pid: worker.pid,
    when,
    ended: found.ended,
    of: found.of,
    inFlight: left.length,
    takeOverMs: null,
  };
  screen.gap();
  screen.step("SIGKILL", killText(kill, reading), "bad");
  return { kill, at, reading, left };
}

const MISSED = {
  researchers: "the log never showed two researchers recorded and another one's call in flight: this worker lives on",
  writer: "the log never showed the writer's call in flight: nothing is stopped or edited there",
} as const;

/** A question is durable before it is sent: it has to be in the server's ledger too before somebody dies over it. */
async function hasArrived({ stage, before }: Scene, reading: Reading): Promise<boolean> {
  const ledger = await stage.ledger();
  return ledger === null || ledger.length - (before ?? 0) >= askedIn(reading);
}

function killText({ pid, when, ended, of, inFlight }: Kill, reading: Reading): string {
  const calls =
    inFlight === 0
      ? "the call in flight was recorded in the last moment"
      : `${counted(inFlight, when === "writer" ? "call of the writer" : "call")} in flight`;
  const researchers = when === "writer" ? "" : `${ended} of ${of} researchers recorded, `;
  return `worker ${pid}: ${researchers}${calls}, ${counted(recordedIn(reading), "answer")} on record`;
}

async function takeOver({ cast, watch, screen }: Scene, { kill, at, left }: Struck): Promise<void> {
  const worker = await cast.start(" waits until the dead one's lease has run out");
  await watch.until((now) => (now.ended || resumed(left, now).length === left.length ? true : null), worker);
  kill.takeOverMs = Math.round(performance.now() - at);
  const kept = left.reduce((sum, { inUse }) => sum + inUse, 0);
  const names = left.map(({ role, taskId }) => `${role} ${taskId}`).join(", ");
  const again = `${counted(kept, "recorded answer")} replayed, ${counted(left.length, "call")} sent again`;
  const what = left.length === 0 ? "Nothing had been in flight" : `In ${names}: ${again}`;
  screen.step("resumed", `after ${duration(kill.takeOverMs)}. ${what}`, "good");
}

async function editAndFinish(
  { stage, cast, watch, screen }: Scene,
  { kill, at, reading, left }: Struck,
): Promise<Edited> {
  const edit = await stage.edit();
  screen.step("edit", `${edit.file}, one line more: generation ${edit.generation}`, "edit");
  screen.detail(`${screen.style.dim(`${edit.line} `)}${screen.style.green(`+ ${edit.added}`)}`);
  const worker = await cast.start(" has the edited prompt, and waits for that lease");
  const end = await watch.until((now) => {
    if (kill.takeOverMs === null && resumed(left, now).length === left.length) {
      kill.takeOverMs = Math.round(performance.now() - at);
      screen.step(
        "resumed",
        `after ${duration(kill.takeOverMs)}. The writer's prompt is another one: its question is asked anew`,
        "good",
      );
    }
    return now.ended ? now : null;
  }, worker);
  const paid = recordedIn(end) - recordedIn(reading);
  const replayed = inUseIn(end) - paid;
  screen.step("edited", `${grouped(replayed)} replayed, ${grouped(paid)} paid`, "good");
  return { ...edit, replayed, paid };
}
