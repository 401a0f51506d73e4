// Flow control in memory: what shared/sql/queries/pass-gates.sql decides, over entries instead of rows. Its twin in Postgres is held to the same suite.
import {
  FLOW_CALL_MS,
  FLOW_CALLED_AT_ONCE_MAX,
  FLOW_CALLS_MAX,
  FLOW_RETRY_MAX_MS,
  FLOW_RETRY_MS,
  FLOW_RETRY_PER_AHEAD_MS,
  FLOW_RETRY_WAITED_PERCENT,
  FLOW_SETTLE_MS,
  FLOW_SPREAD_MS,
  FLOW_UNHEARD_MS,
} from "../../shared/core/limits.ts";
import type { Call, Entered, Flow, Gate } from "../../shared/ports/flow.ts";
import type { StreamRef } from "../../shared/ports/store.ts";
import { ask, type Connection } from "./connection.ts";
import type { SimDatabase } from "./database.ts";

interface Entry {
  readonly stream: StreamRef;
  inside: boolean;
  until: number;
  since: number;
  max: number;
  rate: Gate["rate"];
  callDue: number | null;
  calls: number;
  notBefore: number;
  seenAt: number;
}
interface State {
  level: number;
  perMinute: number | null;
  movedAt: number;
  coolUntil: number;
  entries: Entry[];
}
/** A gate in the midst of a statement, as one stream finds it. */
interface Found {
  readonly gate: Gate;
  readonly counts: boolean;
  readonly state: State;
  readonly mine: Entry | undefined;
  readonly others: readonly Entry[];
  readonly ahead: readonly Entry[];
  readonly cooling: boolean;
}

const nameOf = (s: StreamRef): string => `${s.agent} ${s.runId} ${s.streamId}`;
const tokensOf = (entries: readonly Entry[]): number => entries.reduce((sum, e) => sum + (e.rate?.tokens ?? 0), 0);
const MINUTE_MS = 60_000;

/** How long until the bucket takes so much more, after what is ahead. */
const fillMs = (level: number, ahead: number, rate: Gate["rate"]): number => {
  if (rate === null) return 0;
  const over = level + ahead + (rate.tokens > rate.perMinute ? 0 : rate.tokens - rate.perMinute);
  return (Math.max(0, over) / rate.perMinute) * MINUTE_MS;
};
/** Whether its time is known: nobody ahead is too many for the bucket. */
const inReach = (level: number, ahead: number, rate: Gate["rate"]): boolean =>
  rate === null || ahead <= 0 || level + ahead <= rate.perMinute;

export class Gates {
  readonly #gates = new Map<string, State>();
  readonly #random: () => number;
  constructor(random: () => number) {
    this.#random = random;
  }

  clear(): void {
    this.#gates.clear();
  }

  enter(now: number, stream: StreamRef, gates: readonly Gate[], leaseMs: number, again: boolean): Entered {
    const found = gates.map((gate) => this.#find(now, stream, gate));
    const refused = found.filter((f) => !admits(f));
    if (refused.length === 0) {
      for (const f of found) this.#admit(now, stream, f, leaseMs);
      return { type: "entered", called: this.#call(now, gates, again) };
    }
    const { at, retryAt } = this.#queue(now, stream, found, refused);
    return { type: "wait", key: at.gate.key, retryAt, now, called: this.#call(now, gates, again) };
  }

  leave(
    now: number,
    stream: StreamRef,
    keys: readonly string[],
    used: Readonly<Record<string, number>>,
    again: boolean,
  ): Call[] {
    const gates = keys.map((key): Gate => ({ key, max: null, rate: null }));
    for (const { gate, state, mine } of gates.map((g) => this.#find(now, stream, g))) {
      const spent = used[gate.key];
      if (mine?.inside && mine.rate !== null && spent !== undefined)
        state.level = Math.max(0, state.level + spent - mine.rate.tokens);
      remove(state, mine);
    }
    return this.#call(now, gates, again);
  }

  renew(now: number, streams: readonly StreamRef[], leaseMs: number): void {
    const names = new Set(streams.map(nameOf));
    for (const { entries } of this.#gates.values())
      for (const e of entries) if (e.inside && names.has(nameOf(e.stream))) e.until = now + leaseMs;
  }

  coolDown(now: number, key: string, ms: number): void {
    const state = this.#state(now, key);
    state.coolUntil = Math.max(state.coolUntil, now + ms);
  }

  coolDowns(now: number): ReadonlyMap<string, number> {
    return new Map([...this.#gates].flatMap(([key, g]) => (g.coolUntil > now ? [[key, g.coolUntil] as const] : [])));
  }

  #state(now: number, key: string): State {
    const known = this.#gates.get(key);
    if (known !== undefined) return known;
    const fresh: State = { level: 0, perMinute: null, movedAt: now, coolUntil: 0, entries: [] };
    this.#gates.set(key, fresh);
    return fresh;
  }

  #find(now: number, stream: StreamRef, gate: Gate): Found {
    const state = this.#state(now, gate.key);
    const name = nameOf(stream);
    state.perMinute = gate.rate?.perMinute ?? state.perMinute;
    state.level = Math.max(0, state.level - ((now - state.movedAt) / MINUTE_MS) * (state.perMinute ?? 0));
    state.movedAt = now;
    state.entries = state.entries.filter((e) => nameOf(e.stream) === name || e.until > now);
    const mine = state.entries.find((e) => nameOf(e.stream) === name);
    const others = state.entries.filter((e) => !e.inside && e !== mine);
    const ahead = others.filter((e) => mine === undefined || e.since < mine.since);
    const counts = gate.max !== null || gate.rate !== null;
    return { gate, counts, state, mine, others, ahead, cooling: state.coolUntil > now };
  }

  #admit(now: number, stream: StreamRef, { gate, counts, state, mine }: Found, leaseMs: number): void {
    if (!counts) {
      remove(state, mine);
      return;
    }
    state.level = Math.max(0, state.level + (gate.rate?.tokens ?? 0) - (mine?.inside ? (mine.rate?.tokens ?? 0) : 0));
    const entry = mine ?? put(state, stream, now);
    Object.assign(entry, {
      ...askedOf(gate),
      inside: true,
      until: now + leaseMs,
      callDue: null,
      calls: 0,
      notBefore: 0,
    });
  }

  /** Waits at one gate, and gives all the others back. */
  #queue(now: number, stream: StreamRef, found: readonly Found[], refused: readonly Found[]) {
    const jitter = this.#random();
    const open = refused.filter((f) => !f.counts);
    const openAt = Math.max(0, ...open.map((f) => f.state.coolUntil));
    const byKey = (a: Found, b: Found): number => (a.gate.key < b.gate.key ? -1 : 1);
    const blocked = refused.toSorted((a, b) => b.state.coolUntil - a.state.coolUntil || byKey(a, b));
    const home = found
      .filter((f) => f.counts)
      .sort((a, b) => Number(a.mine === undefined) - Number(b.mine === undefined) || byKey(a, b));
    const at = ((open.length > 0 ? (home[0] ?? open[0]) : blocked[0]) ?? refused[0]) as Found;
    const kept = found.flatMap((f) => (f.mine && (open.length > 0 || !f.mine.inside) ? [f.mine.since] : []));
    const since = Math.min(now, ...kept);
    for (const f of found) if (f !== at || !f.counts) remove(f.state, f.mine);
    const { gate, state } = at;
    const endsAt = Math.max(state.coolUntil > now ? state.coolUntil : 0, openAt);
    const coolsUntil = endsAt === 0 ? 0 : endsAt + jitter * FLOW_SPREAD_MS;
    if (!at.counts) return { at, retryAt: Math.floor(coolsUntil) };
    const entry = at.mine ?? put(state, stream, since);
    Object.assign(entry, { ...askedOf(gate), inside: false, since, calls: 0, notBefore: openAt, seenAt: now });
    const ahead = at.others.filter((e) => e.since < since);
    const turn = ahead.length < roomOf(state, entry.max) && inReach(state.level, tokensOf(ahead), gate.rate);
    const due = Math.max(now + fillMs(state.level, tokensOf(ahead), gate.rate), coolsUntil);
    const waited = ((now - since) * FLOW_RETRY_WAITED_PERCENT) / 100;
    const patience = Math.max(FLOW_RETRY_MS, ahead.length * FLOW_RETRY_PER_AHEAD_MS, waited);
    const backstop = now + Math.min(FLOW_RETRY_MAX_MS, patience) * (0.75 + jitter / 2);
    const retryAt = turn ? due : Math.max(backstop, coolsUntil);
    entry.callDue = turn ? due : null;
    entry.until = retryAt + FLOW_UNHEARD_MS;
    return { at, retryAt: Math.floor(retryAt) };
  }

  #call(now: number, gates: readonly Gate[], again: boolean): Call[] {
    return gates.flatMap(({ key }) => this.#callAt(now, this.#state(now, key), again)).map((e) => callOf(e, now));
  }

  #callAt(now: number, state: State, again: boolean): Entry[] {
    const line = state.entries.filter((e) => !e.inside).sort((a, b) => a.since - b.since);
    return line.slice(0, FLOW_CALLED_AT_ONCE_MAX).filter((e, place) => {
      const ahead = tokensOf(line.slice(0, place));
      if (e.until <= now || place >= roomOf(state, e.max) || !inReach(state.level, ahead, e.rate)) return false;
      const cool = state.coolUntil > now ? state.coolUntil + this.#random() * FLOW_SPREAD_MS : 0;
      const due = Math.max(now + fillMs(state.level, ahead, e.rate), cool, e.notBefore, e.seenAt + FLOW_SETTLE_MS);
      const lapsed = e.callDue !== null && e.callDue + FLOW_CALL_MS <= now;
      if (e.callDue !== null && !lapsed && due >= e.callDue - 1_000) return again;
      e.callDue = due;
      if (lapsed) e.calls++;
      const end = due + FLOW_CALL_MS;
      e.until = e.calls + 1 >= FLOW_CALLS_MAX ? end : Math.max(e.until, end);
      return true;
    });
  }
}

const askedOf = ({ max, rate }: Gate): Pick<Entry, "max" | "rate"> => ({ max: max ?? Number.POSITIVE_INFINITY, rate });
const roomOf = ({ entries }: State, max: number): number =>
  Math.min(FLOW_CALLED_AT_ONCE_MAX, max - entries.filter((e) => e.inside).length);
const callOf = ({ stream, callDue }: Entry, now: number): Call => ({
  stream,
  at: Math.max(now, Math.ceil(callDue ?? now)),
  now,
});

function admits({ gate, state, mine, ahead, cooling }: Found): boolean {
  if (mine?.inside) return true;
  const { max, rate } = askedOf(gate);
  if (cooling || ahead.length >= roomOf(state, max)) return false;
  const before = state.level + tokensOf(ahead);
  return rate === null || before + rate.tokens <= rate.perMinute || before <= 0;
}

function put(state: State, stream: StreamRef, since: number): Entry {
  const entry: Entry = {
    stream,
    inside: false,
    until: 0,
    since,
    max: 0,
    rate: null,
    callDue: null,
    calls: 0,
    notBefore: 0,
    seenAt: since,
  };
  state.entries.push(entry);
  return entry;
}

function remove(state: State, entry: Entry | undefined): void {
  if (entry !== undefined) state.entries.splice(state.entries.indexOf(entry), 1);
}

const ofDatabase = new WeakMap<SimDatabase, Gates>();

/** One worker's way to the gates of the simulated database: each statement at one moment, under its gates' locks. */
export function createSimFlow(connection: Connection): Flow {
  const { db } = connection;
  const gates = ofDatabase.get(db) ?? new Gates(() => db.random.next());
  ofDatabase.set(db, gates);
  const passing = <T>(label: string, keys: readonly string[], pass: (now: number, again: boolean) => T): Promise<T> => {
    let tries = 0;
    return ask(connection, label, async (tx) => {
      const again = tries++ > 0;
      await tx.lock(keys.map((key) => `gate ${key}`).sort());
      return pass(tx.clock(), again);
    });
  };
  return {
    enter: async (stream, wanted, leaseMs) => {
      if (wanted.length === 0) return { type: "entered", called: [] };
      const keys = wanted.map((g) => g.key);
      return passing("enter gates", keys, (now, again) => gates.enter(now, stream, wanted, leaseMs, again));
    },
    leave: async (stream, keys, used = {}) =>
      keys.length === 0
        ? []
        : passing("leave gates", keys, (now, again) => gates.leave(now, stream, keys, used, again)),
    renew: (streams, leaseMs) => passing("renew places", [], (now) => gates.renew(now, streams, leaseMs)),
    coolDown: (key, ms) => passing("cool down", [key], (now) => gates.coolDown(now, key, ms)),
    coolDowns: () => passing("cool-downs", [], (now) => ({ now, until: gates.coolDowns(now) })),
  };
}
