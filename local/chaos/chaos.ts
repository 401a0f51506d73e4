// One run whose workers are killed again and again, on a state folder and a database of its own: nothing else is touched, and no other worker can step in.
import { randomInt, randomUUID } from "node:crypto";
import { join, relative, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { problemText } from "../../shared/authoring/problem.ts";
import { TorenError } from "../../shared/core/errors.ts";
import type { Json } from "../../shared/core/json.ts";
import type { RunJson } from "../../shared/http/run-json.ts";
import { type Api, createApi } from "../client/api.ts";
import { followRun } from "../client/follow.ts";
import { type ModelChoice, startDemoModel } from "../client/models.ts";
import { type LocalFile, upload } from "../client/upload.ts";
import { closeAll } from "../close-all.ts";
import { clearDatabase, type OwnPlace, refuseIfInUse, serveOwn, startOwnWorker } from "../own-stage.ts";
import { prepareState, stateFolderOf } from "../state.ts";
import type { Terminal } from "../terminal/terminal.ts";
import type { WaveNames } from "../terminal/tree.ts";
import { counted, shortId } from "../terminal/units.ts";
import { openApprovals, waitsForPerson } from "../terminal/waits.ts";
import type { Worker } from "../worker-process.ts";
import { type Logged, mayStrike, standing } from "./blows.ts";

export interface ChaosOptions {
  readonly agent: string;
  readonly process?: string;
  readonly input: Json;
  readonly files: readonly LocalFile[];
  readonly agentsFolder: string;
  readonly choice: ModelChoice;
  /** Workers to kill, if the run lasts that long. */
  readonly kills: number;
  /** Grant what waits for approval; otherwise the run is left where it waits. */
  readonly approve: boolean;
  readonly onStep: (label: string, text: string, bad?: boolean) => void;
  readonly onRun: (run: RunJson, names: WaveNames) => void;
}

export interface Blow {
  readonly pid: number;
  /** Calls and steps that were begun and not on record when their worker died. */
  readonly inFlight: number;
  /** Length of the run's log at that time. */
  readonly events: number;
}

export interface Survived {
  readonly run: RunJson;
  readonly names: WaveNames;
  readonly log: readonly Logged[];
  readonly blows: readonly Blow[];
  /** Relative to the working folder where that is shorter. */
  readonly stateFolder: string;
}

/** A life adds so many events at least, drawn anew for each, and is left alone for so long after them. */
const EVENTS = { least: 1, most: 6 } as const;
const PAUSE_MS = 400;
const LOOK_MS = 50;
/** What a worker had sent to the database when it was killed is there after that, and was read by who follows the run. */
const SETTLE_MS = 500;

/** Null: somebody stopped it. @throws TorenError when the agent, the model or the database can't be had. */
export async function chaos(terminal: Terminal, options: ChaosOptions): Promise<Survived | null> {
  const closing: (() => Promise<void>)[] = [];
  try {
    return await perform(terminal, options, closing);
  } finally {
    await closeAll(closing);
  }
}

async function perform(
  terminal: Terminal,
  options: ChaosOptions,
  closing: (() => Promise<void>)[],
): Promise<Survived | null> {
  const { env, workingFolder, interrupted } = terminal;
  const { choice, onStep } = options;
  const stateFolder = join(stateFolderOf(env, workingFolder), "chaos");
  const shown = relative(workingFolder, stateFolder) || stateFolder;
  const agentsFolder = resolve(workingFolder, options.agentsFolder);
  await prepareState(stateFolder);
  await refuseIfInUse(stateFolder, shown);
  await clearDatabase(stateFolder, shown);
  const demo = choice.demo ? await startDemoModel(env) : null;
  if (demo !== null) closing.push(demo.close);
  onStep("model", choice.notice);
  const place: OwnPlace = { stateFolder, agentsFolder, env: demo?.env ?? env, model: choice.model };
  const server = await serveOwn({ ...place, databaseUrl: undefined, say: onStep });
  closing.push(server.close);
  const broken = server.laptop.problems.filter(({ agent }) => agent === options.agent || agent === "");
  if (broken.length > 0) throw new TorenError("agent.invalid", broken.map(problemText).join("\n  "));
  const api = createApi(server.record.url, server.key);
  const ids = await upload(api, options.files);
  const { agent, input } = options;
  const process = options.process === undefined ? {} : { process: options.process };
  const { runId } = await api.start({ agent, input, files: ids, ...process }, randomUUID());
  onStep("run", `${runId}, on a database of its own in ${shown}`);
  const start = async (): Promise<Worker> => {
    const worker = await startOwnWorker(place, server.laptop.database.url);
    closing.push(worker.end);
    return worker;
  };
  const survived = await survive({ api, runId, start, options, signal: interrupted });
  return survived && { ...survived, stateFolder: shown };
}

interface Scene {
  readonly api: Api;
  readonly runId: string;
  readonly options: ChaosOptions;
  readonly signal: AbortSignal;
  start(): Promise<Worker>;
}

/** Who follows and who kills know of each other by the log alone. What fails at one ends the other, too, before anybody takes the stage away. */
async function survive(scene: Scene): Promise<Omit<Survived, "stateFolder"> | null> {
  const { api, runId, options, signal } = scene;
  const log: Logged[] = [];
  const over = new AbortController();
  const broken = new AbortController();
  let names: WaveNames = new Map();
  const following = followRun(api, runId, {
    signal: AbortSignal.any([signal, broken.signal]),
    onEvents: (events) => void log.push(...events),
    onRun: (run, waves) => {
      names = waves;
      options.onRun(run, waves);
      if (options.approve) void grant(scene, run);
    },
    onTrouble: (text) => options.onStep("trouble", text),
    until: (run) => waitsForPerson(run) && !(options.approve && grantable(run).length > 0),
    reconnect: async () => null,
  }).finally(() => over.abort());
  const striking = strikeOn(scene, log, over.signal).catch((thrown: unknown) => {
    broken.abort();
    throw thrown;
  });
  await Promise.allSettled([following, striking]);
  const [blows, run] = [await striking, await following];
  return run === null ? null : { run, names, log, blows };
}

async function strikeOn(scene: Scene, log: readonly Logged[], over: AbortSignal): Promise<Blow[]> {
  const { options, runId } = scene;
  const blows: Blow[] = [];
  const deaths: number[] = [];
  let worker = await scene.start();
  while (!over.aborted && blows.length < options.kills) {
    const events = randomInt(EVENTS.least, EVENTS.most + 1);
    const pause = randomInt(PAUSE_MS);
    if (!(await ripe(log, deaths, events, worker, over))) break;
    await sleep(pause, undefined, { signal: over }).catch(() => {});
    if (over.aborted || !mayStrike(log, deaths, events)) continue;
    await worker.kill();
    await sleep(SETTLE_MS, undefined, { signal: over }).catch(() => {});
    deaths.push(log.length);
    const inFlight = standing(log, []).open.size;
    blows.push({ pid: worker.pid, inFlight, events: log.length });
    const what = inFlight === 0 ? "between two calls" : `${counted(inFlight, "call")} in flight`;
    options.onStep("SIGKILL", `worker ${worker.pid}: ${what}, ${counted(log.length, "event")} on record`, true);
    if (over.aborted) break;
    worker = await scene.start();
    options.onStep("worker", `pid ${worker.pid} goes on with ${shortId(runId)}`);
  }
  await ripe(log, deaths, Number.POSITIVE_INFINITY, worker, over); // the last one lives
  return blows;
}

/** False: the run is over. @throws TorenError when the worker ends by itself. */
async function ripe(
  log: readonly Logged[],
  deaths: readonly number[],
  events: number,
  worker: Worker,
  over: AbortSignal,
): Promise<boolean> {
  while (!over.aborted && !mayStrike(log, deaths, events)) {
    const end = worker.ended();
    if (end !== null)
      throw new TorenError(
        "server.unreachable",
        `Worker ${worker.pid} ended by itself (${end}): see ${worker.logFile}.`,
      );
    await sleep(LOOK_MS, undefined, { signal: over }).catch(() => {});
  }
  return !over.aborted;
}

/** Whether a call that may have taken effect is to run again is for a person to say. */
const grantable = (run: RunJson) => openApprovals(run).filter(({ reason }) => reason !== "unknownOutcome");

/** One that the server refuses is asked about again at the next reading, or was granted by the one before. */
async function grant({ api, runId }: Scene, run: RunJson): Promise<void> {
  for (const { key } of grantable(run))
    await api.approve(runId, { granted: true, call: key, by: "toren chaos" }).catch(() => {});
}
