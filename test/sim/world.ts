// Over 300 lines: one loop and the moves that it makes. The simulated world: workers, messages, the guardian and what goes wrong, all from one seed. Only the database's clock counts. One state machine over
// one state, hence its length.
import { TorenError } from "../../shared/core/errors.ts";
import { GUARDIAN_EVERY_MS, LEASE_MS, NACK_MS, RECEIVES_MAX } from "../../shared/core/limits.ts";
import { cancelRun, resumeRun } from "../../shared/engine/cancel-run.ts";
import { guard } from "../../shared/engine/guard.ts";
import { runTask } from "../../shared/engine/run-task.ts";
import { runTick } from "../../shared/engine/run-tick.ts";
import { startRun } from "../../shared/engine/start-run.ts";
import type { Fate } from "./connection.ts";
import { type Plants, type Run, SimDatabase } from "./database.ts";
import type { Faults } from "./faults.ts";
import { createVisitor, type Visitor } from "./people.ts";
import type { Program } from "./program.ts";
import { Outside, Provider } from "./provider.ts";
import { type Message, SimQueue } from "./queue.ts";
import { createRandom, type Random } from "./random.ts";
import { Scheduler, settled } from "./scheduler.ts";
import { createWorker, SCRIPTED_AGENT, type Surroundings, type Worker } from "./worker.ts";

const CLOCK_OFF_MS = 5 * 60_000;
const BETWEEN_EDITS_MS = 90_000;
const VISITS_MS = 20_000;

export class World {
  readonly random: Random;
  readonly scheduler: Scheduler;
  readonly db: SimDatabase;
  readonly queue: SimQueue;
  readonly provider: Provider;
  readonly outside: Outside;
  readonly faults: Faults;
  readonly program: Program;
  /** What must not happen: thrown bugs, mostly. */
  readonly problems: string[] = [];
  /** What did: deaths, pauses, edits. */
  readonly events: string[] = [];
  readonly workers: Worker[] = [];
  readonly #started = new Set<number>();
  edition = 0;
  cancelled = false;
  /** When time last passed that a worker didn't have: it stood still, or everything did. */
  lostTimeAt = 0;
  #disturbances = 0;
  #guardedAt = 0;
  #born = 0;
  #uuids = 0;
  #outage = false;
  #resuming = false;
  #takenBackAt = 0;

  constructor(seed: number, program: Program, faults: Faults, plants: Plants = {}) {
    this.random = createRandom(seed);
    this.faults = faults;
    this.program = program;
    this.scheduler = new Scheduler(this.random, faults);
    this.db = new SimDatabase(this.scheduler, this.random, plants);
    this.db.late = faults.late;
    this.queue = new SimQueue(this.scheduler, this.random, () => faults.queue);
    this.provider = new Provider(this.scheduler, this.random, faults, program.bounds);
    this.outside = new Outside(this.scheduler);
    for (let i = 0; i < faults.workers; i++) this.#spawn();
  }

  get runs(): Run[] {
    return [...this.db.runs.values()];
  }
  /** Those that clients started. */
  get roots(): Run[] {
    return this.runs.filter((run) => run.record.parent === null);
  }
  /** The runs and all of their streams. */
  get over(): boolean {
    if (this.#started.size < this.faults.runs) return false;
    return this.runs.every((run) => [...run.streams.values()].every((s) => s.status === "ended"));
  }

  /** Starts the runs as clients do: again, under their keys, until somebody answers. */
  start(): void {
    for (let n = 0; n < this.faults.runs; n++) this.#start(n);
    if (this.program.people !== undefined) void this.#visited(createVisitor(this.program.people, this.random));
  }

  /** People come by now and then; whoever comes too early, or gets no answer, comes again. */
  async #visited(visitor: Visitor): Promise<void> {
    while (!this.over) {
      await this.scheduler.point("people", "come by", 500 + this.random.int(VISITS_MS));
      for (const run of this.runs)
        for (let n = this.random.chance(0.3) ? 2 : 1; n > 0; n--)
          visitor.visit(this.random.pick(this.workers).deps, run).catch((thrown: unknown) => this.#unavailable(thrown));
    }
  }

  #start(n: number): void {
    const { deps } = this.random.pick(this.workers);
    const request = { agent: SCRIPTED_AGENT, input: this.program.input, idempotencyKey: `run ${n}` };
    startRun(deps, request).then(
      (started) => {
        if (started.type === "refused") this.problems.push(`refused: ${started.error.message}`);
        this.#started.add(n);
      },
      (thrown: unknown) => {
        this.#unavailable(thrown);
        this.#start(n);
      },
    );
    // A client whom nobody answers asks again as well.
    void this.scheduler.point("client", `of run ${n} waits`, 15_000).then(() => {
      if (!this.#started.has(n)) this.#start(n);
    });
  }

  /** One thing happens. False: nothing ever will again. */
  async turn(): Promise<boolean> {
    this.#disturb();
    const visible = this.#deliverable();
    if (visible.length > 0 && this.random.chance(0.3)) {
      this.#deliver(this.faults.adverse ? this.random.pick(visible) : (visible[0] as Message));
      await settled();
      return true;
    }
    if (this.#guardianDue()) {
      await this.#guard();
      return true;
    }
    if (await this.scheduler.step()) return true;
    const [first] = visible;
    if (first !== undefined) {
      this.#deliver(first);
      await settled();
      return true;
    }
    const wake = Math.max(this.#guardedAt + GUARDIAN_EVERY_MS, this.db.nextWake());
    const at = Math.min(this.scheduler.nextAt(), wake, this.queue.nextVisibleAt());
    if (at === Number.POSITIVE_INFINITY) return false;
    this.scheduler.now = Math.max(this.scheduler.now, at) + 1; // no two clocks ever read the same time
    return true;
  }

  deploy(): void {
    this.edition++;
    this.events.push(`edition ${this.edition}`);
    this.scheduler.note(`edition ${this.edition}`);
    // Some reload, others go on with what they have until they are replaced.
    for (const worker of this.workers) if (this.random.chance(0.6)) worker.edition = this.edition;
    if (this.workers.every((w) => w.edition < this.edition)) this.#spawn();
  }

  /** Nothing but a person's decision would bring the runs on. */
  #waitsForDecision(): boolean {
    const open = this.runs.flatMap((run) => [...run.streams.values()]).filter((s) => s.status !== "ended");
    const waits = open.filter((s) => s.status === "parked" && (s.wait === "cut" || (s.wait === "wave" && !s.wakeAt)));
    return waits.length === open.length && open.some((s) => s.wait === "cut");
  }

  /** Somebody takes the last edit back, and has what waits look again until it has gone on. */
  #takeBack(): void {
    if (this.scheduler.now < this.#takenBackAt + BETWEEN_EDITS_MS) return;
    this.#takenBackAt = this.scheduler.now;
    this.deploy();
    if (!this.workers.some((w) => w.edition === this.edition && !w.stop.signal.aborted)) this.#spawn();
    if (this.#resuming) return;
    this.#resuming = true;
    const resume = async (): Promise<void> => {
      while (!this.over) {
        const { deps } = this.random.pick(this.workers);
        const asked = this.runs.map(({ record }) => resumeRun(deps, { agent: SCRIPTED_AGENT, runId: record.runId }));
        for (const one of asked) one.catch((thrown: unknown) => this.#unavailable(thrown));
        await this.scheduler.point("client", "asks to resume", 10_000);
      }
    };
    void resume();
  }

  /** A user's cancel, from some worker's HTTP side. Repeated until it is heard. */
  cancel(): void {
    this.cancelled = true;
    this.events.push("cancel");
    const { runId } = this.random.pick(this.roots).record;
    const tell = async (): Promise<void> => {
      const worker = this.random.pick(this.workers);
      const run = { agent: SCRIPTED_AGENT, runId, reason: "a user asked" };
      const told = await cancelRun(worker.deps, run).catch((thrown: unknown) => this.#unavailable(thrown));
      if (told === undefined) void tell();
    };
    void tell();
  }

  #spawn(): Worker {
    const owner = `w${++this.#born}`;
    const surroundings: Surroundings = {
      scheduler: this.scheduler,
      random: this.random,
      db: this.db,
      queue: this.queue,
      provider: this.provider,
      outside: this.outside,
      program: this.program,
      tries: this.faults.tries,
      fate: () => this.#fate(),
      uuid: () => `00000000-0000-4000-8000-${String(++this.#uuids).padStart(12, "0")}`,
      warn: () => {},
    };
    const off = this.#born % 2 === 0 ? CLOCK_OFF_MS : -CLOCK_OFF_MS;
    const worker = createWorker(surroundings, owner, this.edition, off);
    this.workers.push(worker);
    return worker;
  }

  #fate(): Fate {
    if (this.#outage) return this.random.chance(0.5) ? "request lost" : "answer lost";
    const { answerLost, requestLost } = this.faults;
    const chance = this.random.next();
    return chance < answerLost ? "answer lost" : chance < answerLost + requestLost ? "request lost" : "answered";
  }

  #disturb(): void {
    const { faults, random } = this;
    if (!faults.adverse || this.runs.length === 0) return;
    const { editions, takenBack } = this.program;
    if (this.edition < editions - 1 && random.chance(faults.edits)) this.deploy();
    if (takenBack && this.#waitsForDecision()) this.#takeBack();
    if (faults.cancels > 0 && !this.cancelled && random.chance(faults.cancels)) this.cancel();
    if (this.#disturbances < faults.disturbances && random.chance(faults.stops)) this.#stopGracefully();
    if (this.#disturbances >= faults.disturbances || !random.chance(faults.disturbing)) return;
    this.#disturbances++;
    const kind = random.pick(faults.kinds);
    if (kind === "crash") this.crash(random.pick(this.workers));
    else if (kind === "pause") this.#pause(random.pick(this.workers), random.int(2.5 * LEASE_MS));
    else if (kind === "stall") this.#stall();
    else this.#cutOff();
  }

  /** All that it waits for never comes; its leases stay until they run out. */
  crash(worker: Worker): void {
    this.#note(`${worker.owner} dies`, () => this.#remove(worker));
    const again = this.random.int(8_000);
    if (this.workers.length < 2) this.#spawn();
    else void this.scheduler.point("world", "a worker starts", again).then(() => this.#spawn());
  }

  #remove(worker: Worker): void {
    this.scheduler.drop(worker.owner);
    this.workers.splice(this.workers.indexOf(worker), 1);
  }

  /** A garbage collector, a suspended machine: its statements go on without it, its leases run out. */
  #pause(worker: Worker, ms: number): void {
    if (this.scheduler.frozen.has(worker.owner)) return;
    this.#note(`${worker.owner} pauses for ${ms}`, () => this.scheduler.frozen.add(worker.owner));
    void this.scheduler.point("world", `${worker.owner} goes on`, ms).then(() => {
      this.scheduler.frozen.delete(worker.owner);
      this.lostTimeAt = this.scheduler.now;
    });
  }

  #stall(): void {
    this.#note("stall", () => (this.scheduler.now += this.random.int(2 * LEASE_MS)));
    this.lostTimeAt = this.scheduler.now;
  }

  /** Nobody reaches the database for a while. */
  #cutOff(): void {
    this.#note("the database is away", () => {
      this.#outage = true;
    });
    void this.scheduler.point("world", "the database is back", this.random.int(6_000)).then(() => {
      this.#outage = false;
    });
  }

  /** Asked to stop: hands over at the next step boundary. Its place is taken at once; it lives on until then. */
  #stopGracefully(): void {
    const worker = this.random.pick(this.workers);
    if (worker.stop.signal.aborted) return;
    this.#disturbances++; // whoever comes to no step boundary in time is counted as dead
    this.#note(`${worker.owner} stops`, () => worker.stop.abort());
    this.#spawn();
    void this.scheduler.point("world", `${worker.owner} is gone`, 60_000).then(() => {
      if (this.workers.includes(worker)) this.#remove(worker);
    });
  }

  #note(what: string, change: () => void): void {
    this.events.push(`${this.scheduler.steps}: ${what}`);
    this.scheduler.note(what);
    change();
  }

  #free(message: Message): Worker[] {
    const awake = this.workers.filter((w) => !this.scheduler.frozen.has(w.owner) && !w.stop.signal.aborted && !w.solo);
    return awake.filter((w) => (message.queue === "tasks-solo" ? w.busy === 0 : w.busy < this.faults.concurrency));
  }
  #deliverable(): Message[] {
    return this.queue.visible().filter((m) => this.#free(m).length > 0);
  }

  #deliver(message: Message): void {
    const { hint, queue } = message;
    const free = this.#free(message);
    const worker = this.faults.adverse ? this.random.pick(free) : (free[0] as Worker);
    if (message.receives >= RECEIVES_MAX) {
      this.queue.messages.delete(message.id); // a dead letter: the guardian has to help
      return;
    }
    this.queue.receive(message);
    const solo = queue === "tasks-solo";
    worker.busy++;
    worker.solo ||= solo;
    const until = this.scheduler.now + this.faults.invocationMs;
    const at = { solo, stop: worker.stop.signal, remainingMs: () => until - this.scheduler.now };
    const who = `${hint.taskId ?? "run"} at ${worker.owner}`;
    this.scheduler.note(`${queue} ${who}`);
    const { taskId } = hint;
    const work = taskId === null ? runTick(worker.deps, hint, at) : runTask(worker.deps, { ...hint, taskId }, at);
    const done = (): void => {
      worker.busy--;
      if (solo) worker.solo = false;
    };
    work.then(
      (worked) => {
        done();
        this.queue.messages.delete(message.id);
        this.scheduler.note(`${who}: ${worked}`);
      },
      (thrown: unknown) => {
        done();
        message.visibleAt = this.scheduler.now + NACK_MS;
        this.scheduler.note(`${who} fails`);
        this.#unavailable(thrown);
      },
    );
  }

  #guardianDue(): boolean {
    const { now } = this.scheduler;
    return now >= this.#guardedAt + GUARDIAN_EVERY_MS && this.db.nextWake() <= now;
  }

  async #guard(): Promise<void> {
    this.#guardedAt = this.scheduler.now;
    const awake = this.workers.filter((w) => !this.scheduler.frozen.has(w.owner));
    if (awake.length === 0) return;
    const { deps } = this.faults.adverse ? this.random.pick(awake) : (awake[0] as Worker);
    guard(deps).then(
      () => {},
      (thrown: unknown) => this.#unavailable(thrown),
    );
    await settled();
  }

  /** The one failure that is expected; any other is a bug. */
  #unavailable(thrown: unknown): undefined {
    if (thrown instanceof TorenError && thrown.code === "database.unavailable") return undefined;
    this.problems.push(`thrown: ${thrown instanceof Error ? thrown.stack : String(thrown)}`);
    return undefined;
  }
}
