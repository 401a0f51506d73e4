// The app over plain values: routing, refusals and statuses without an engine. What needs a real one is in test/local.

import { expect } from "@jest/globals";
import type { RawEvent } from "../../shared/core/events.ts";
import type { Json } from "../../shared/core/json.ts";
import { createApp } from "../../shared/http/app.ts";
import { newKey } from "../../shared/http/auth.ts";
import type { HttpDeps } from "../../shared/http/deps.ts";
import type { AuditEntry } from "../../shared/ports/audit.ts";
import type { FileInfo } from "../../shared/ports/files.ts";
import type { Admission } from "../../shared/ports/keys.ts";
import type { StreamRow } from "../../shared/ports/store.ts";
import type { Figures } from "../../shared/ports/totals.ts";

export const problem = async (response: Response) => {
  expect(response.headers.get("content-type")).toBe("application/problem+json");
  return (await response.json()) as { code: string; status: number; detail: string; errors?: { path: string }[] };
};

export const KEY = newKey();
export const KEY_NAME = "a test's key";
export const RUN = "01980f2e-7c1a-4d5b-9e3f-000000000001";

export const agent = {
  name: "echo",
  description: "Says it again.",
  codeHash: "h",
  roles: new Map(),
  processes: new Map([["main", { kind: "role" as const, role: "main" }]]),
  env: {},
  models: new Map(),
  limits: { maxParallel: null, maxCostUsd: null, totalTokens: null },
};

export const FIGURES: Figures = {
  started: 3,
  ended: { completed: 1, failed: 1, cancelled: 0 },
  modelCalls: 7,
  tokensIn: 100,
  tokensOut: 20,
  nanoUsd: 1_500_000_000,
  simulatedNanoUsd: 0,
  unpriced: 2,
  retries: 1,
  cuts: 0,
  replays: 4,
  live: new Map([["waitingApproval", 1]]),
  oldestReadyS: 0.25,
};

export interface Fakes {
  readonly streams?: () => StreamRow[];
  readonly log?: (streamId: string) => RawEvent[];
  readonly useCases?: Partial<HttpDeps["useCases"]>;
  readonly files?: Partial<HttpDeps["files"]>;
  readonly overview?: Partial<HttpDeps["overview"]>;
  readonly metrics?: Partial<HttpDeps["metrics"]>;
  readonly store?: Partial<HttpDeps["store"]["runs"]>;
  readonly admit?: (key: string) => Admission | undefined;
  readonly keys?: Partial<HttpDeps["keys"]>;
  readonly schedules?: Partial<HttpDeps["schedules"]>;
  readonly audit?: Partial<HttpDeps["audit"]>;
  /** Filled with what is asked of useCases, runs, files, keys, audit and the overview. */
  readonly touched?: string[];
  readonly sleep?: HttpDeps["sleep"];
  readonly console?: NonNullable<HttpDeps["console"]>;
}

export const streamRow = (streamId: string, headSeq: number, status: StreamRow["status"] = "running"): StreamRow => ({
  streamId,
  status,
  outcome: null,
  wait: null,
  wakeAt: null,
  attempts: 0,
  role: null,
  wave: null,
  headSeq,
  sealedSeq: 0,
  copiedSeq: 0,
  problem: null,
});

/** Names what a route asks of its dependencies. */
const watched = (deps: HttpDeps, touched: string[]): HttpDeps => {
  const watch = <T extends object>(part: T): T =>
    new Proxy(part, {
      get: (target, key, receiver) => {
        touched.push(String(key));
        return Reflect.get(target, key, receiver);
      },
    });
  const { useCases, store, files, keys, audit, overview } = deps;
  return {
    ...deps,
    useCases: watch(useCases),
    store: { ...store, runs: watch(store.runs) },
    files: watch(files),
    keys: watch(keys),
    audit: watch(audit),
    overview: watch(overview),
  };
};

export function fakeApp(fakes: Fakes = {}, basePath?: string) {
  const logged: string[] = [];
  const uploads: FileInfo[] = [];
  const noted: AuditEntry[] = [];
  const caller = { keyId: null, name: KEY_NAME, scopes: ["admin" as const], agents: null };
  const admitted: Admission = { type: "admitted", caller };
  const deps: HttpDeps = {
    useCases: {
      startRun: async () => ({ type: "started", runId: RUN }),
      cancelRun: async () => ({ type: "told" }),
      resumeRun: async () => ({ type: "told" }),
      decideApproval: async () => ({ type: "told" }),
      decideCut: async () => ({ type: "told" }),
      retryRun: async () => ({ type: "told" }),
      forkRun: async () => ({ type: "started", runId: RUN }),
      eraseRun: async () => ({ type: "told" }),
      pruneRuns: async () => ({ runs: 0, events: 0, more: false }),
      sendDeadLetter: async () => ({ type: "told" }),
      exportRun: async () => ({ lines: ['{"table":"runs","row":{}}'], next: null }),
      sendMessage: async () => ({ type: "told" }),
      sendSignal: async () => ({ type: "told" }),
      createSchedule: async () => ({ type: "refused", error: { code: "schedule.invalid", message: "No." } }),
      changeSchedule: async () => ({ type: "refused", error: { code: "schedule.invalid", message: "No." } }),
      scheduleTimes: async () => [],
      readRun: async () => null,
      readCall: async () => ({ type: "refused", error: { code: "not_found", message: "There is no such call." } }),
      readTurns: async () => ({ type: "turns", page: { turns: [], next: null, count: 1 } }),
      addFile: async ({ content, ...rest }) => {
        const info = { id: `f${uploads.length}`, bytes: content.byteLength, pages: null, ...rest };
        uploads.push(info);
        return info;
      },
      ...fakes.useCases,
    },
    store: {
      runs: {
        agentOf: async (runId) => (runId === RUN ? agent.name : null),
        list: async () => ({ runs: [], next: null }),
        streams: async () => fakes.streams?.() ?? [],
        ...fakes.store,
      },
      streams: {
        read: async (ref, after, limit) =>
          (fakes.log?.(ref.streamId) ?? []).filter((e) => e.seq > after).slice(0, limit),
      },
    },
    inspection: {
      outline: async ({ streamId }, after, limit) =>
        (fakes.log?.(streamId) ?? [])
          .filter((e) => e.seq > after)
          .slice(0, limit)
          .map(({ payload, ...event }) => ({ ...event, payload: payload as Record<string, Json> })),
    },
    agents: { get: (name) => (name === agent.name ? { agent, generation: 1 } : null), names: () => [agent.name] },
    overview: {
      agents: async () => [agent.name],
      counts: async () => ({}),
      waiting: async () => [],
      stuck: async () => [],
      paidToday: async () => ({ nanoUsd: 0, simulated: false }),
      ...fakes.overview,
    },
    metrics: { totals: { figures: async () => FIGURES }, queues: async () => [], appends: null, ...fakes.metrics },
    deadLetters: { page: async () => ({ letters: [], next: null }), get: async () => null, drop: async () => false },
    files: {
      page: async () => ({ files: uploads.map((file) => ({ ...file, createdAt: 0 })), next: null }),
      remove: async () => ({ type: "unknown" }),
      uploads: null,
      ...fakes.files,
    },
    log: { info: () => {}, warn: () => {}, error: (what, fields) => void logged.push(`${what} ${fields?.error}`) },
    admit: async (key) => fakes.admit?.(key) ?? (key === KEY ? admitted : { type: "unknown" }),
    keys: { create: async () => null, list: async () => [], revoke: async () => null, ...fakes.keys },
    schedules: { get: async () => null, list: async () => [], remove: async () => false, ...fakes.schedules },
    audit: { note: async (entry) => void noted.push(entry), page: async () => [], ...fakes.audit },
    sleep: fakes.sleep ?? (async () => {}),
    ...(fakes.console === undefined ? {} : { console: fakes.console }),
  };
  const app = createApp(
    fakes.touched === undefined ? deps : watched(deps, fakes.touched),
    basePath === undefined ? {} : { basePath },
  );
  const ask = (path: string, init: RequestInit = {}) =>
    app.request(path, {
      ...init,
      headers: { authorization: `Bearer ${KEY}`, ...(init.headers as Record<string, string>) },
    });
  const post = (path: string, body: unknown, headers: Record<string, string> = {}) =>
    ask(path, { method: "POST", body: typeof body === "string" ? body : JSON.stringify(body), headers });
  return { app, ask, post, logged, uploads, noted };
}
