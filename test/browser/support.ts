// A person at the console: a real browser, a real server with the example agents, a real Postgres, and the rule-based model server.

import { readFileSync } from "node:fs";
import { cp } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import type { Browser, BrowserContext, Page, Request } from "playwright-core";
import { startModelServer } from "../../local/model-server/server.ts";
import type { RunningServer } from "../../local/server.ts";
import { createScriptedModel } from "../../shared/adapters/model/script.ts";
import { DEMO_MODEL } from "../../shared/adapters/model/table.ts";
import type { RunJson } from "../../shared/http/run-json.ts";
import type { Model } from "../../shared/ports/model.ts";
import { type Bench, createBench } from "../local/harness.ts";
import { ROOT } from "../repo/files.ts";

/** Debian's; another one by CHROMIUM. */
const CHROMIUM = process.env.CHROMIUM ?? "/usr/bin/chromium";
const FLAGS = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

export interface Visit {
  readonly page: Page;
  /** What the browser complained of so far: scripts that failed, rules of the page's policy that were broken. */
  readonly complaints: readonly string[];
  /** Goes to a place of the console: `#/runs`. */
  go(hash: string): Promise<void>;
  close(): Promise<void>;
}

export interface VisitOptions {
  readonly width?: number;
  readonly height?: number;
  readonly scheme?: "light" | "dark";
  /** Not signed in. */
  readonly stranger?: boolean;
}

export interface Site {
  readonly bench: Bench;
  readonly server: RunningServer;
  visit(options?: VisitOptions): Promise<Visit>;
  ask<T>(path: string, init?: RequestInit): Promise<T>;
  /** A run's id, started over the API. */
  start(agent: string, input: unknown, files?: readonly string[]): Promise<string>;
  become(runId: string, status: RunJson["status"]): Promise<RunJson>;
  close(): Promise<void>;
}

export interface SiteOptions {
  /** Answers in place of the rule-based server, for agents with `mock/script`. */
  readonly model?: Model;
  /** Agents beside the examples: files by their paths. */
  readonly files?: Readonly<Record<string, string>>;
  readonly latencyMs?: number;
}

export async function openSite({ model, files = {}, latencyMs = 0 }: SiteOptions = {}): Promise<Site> {
  const { chromium } = await import("playwright-core");
  const browser: Browser = await chromium.launch({ executablePath: CHROMIUM, args: FLAGS });
  const bench = await createBench();
  const models = await startModelServer({ port: 0, minLatencyMs: latencyMs, maxLatencyMs: latencyMs });
  for (const name of ["approval", "assistant", "research_crew"])
    await cp(join(ROOT, "agents", name), join(bench.folder, "agents", name), { recursive: true });
  for (const [path, text] of Object.entries(files)) await bench.write(path, text);
  process.env.REFUNDS_FOLDER = join(bench.folder, "refunds");
  const server = await bench.serve(model ?? createScriptedModel(() => "said"), {
    env: { OPENAI_BASE_URL: models.url, OPENAI_API_KEY: "demo" },
    ...(model === undefined ? { model: `openai/${DEMO_MODEL}` } : {}),
    onAgentChange: () => {},
  });
  const ask = async <T>(path: string, init: RequestInit = {}): Promise<T> => {
    const headers = { authorization: `Bearer ${server.key}`, ...(init.headers as Record<string, string>) };
    const response = await fetch(`${server.record.url}/${path}`, { ...init, headers });
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return (await response.json()) as T;
  };
  return {
    bench,
    server,
    ask,
    visit: (options) => visit(browser, server, options),
    start: async (agent, input, ids = []) => {
      const body = JSON.stringify({ agent, input, files: ids });
      return (await ask<{ runId: string }>("runs", { method: "POST", body })).runId;
    },
    become: async (runId, status) => {
      for (const end = Date.now() + 40_000; ; await new Promise((r) => setTimeout(r, 50))) {
        const run = await ask<RunJson>(`runs/${runId}`);
        if (run.status === status) return run;
        if (Date.now() > end) throw new Error(`${runId} is ${run.status}, not ${status}`);
      }
    },
    close: async () => {
      delete process.env.REFUNDS_FOLDER;
      await browser.close();
      await bench.close();
      await models.close();
    },
  };
}

/** What each open page shows and asked for; test/browser/environment.mjs prints it when a test fails. */
const shown = new Set<() => Promise<string>>();
const LAST_REQUESTS = 25;
Object.assign(globalThis, {
  whenTestFails: async (name: string): Promise<void> => {
    for (const seen of shown) process.stderr.write(`\nWhen "${name}" failed: ${await seen()}\n`);
  },
});

async function visit(browser: Browser, server: RunningServer, options: VisitOptions = {}): Promise<Visit> {
  const { width = 1280, height = 820, scheme = "light", stranger = false } = options;
  const context: BrowserContext = await browser.newContext({ viewport: { width, height }, colorScheme: scheme });
  const page = await context.newPage();
  page.setDefaultTimeout(30_000);
  const complaints: string[] = [];
  const requests = new Map<Request, string>();
  page.on("request", (request) => requests.set(request, "under way"));
  page.on("response", (response) => requests.set(response.request(), `${response.status()}, being read`));
  page.on("requestfinished", (request) => requests.set(request, `${requests.get(request)?.slice(0, 3)}`));
  page.on("requestfailed", (request) => requests.set(request, request.failure()?.errorText ?? "failed"));
  const seen = async (): Promise<string> => {
    const text = await page.innerText("body", { timeout: 1_000 }).catch((e: unknown) => `no text: ${e}`);
    const last = [...requests].slice(-LAST_REQUESTS).map(([r, state]) => `${r.method()} ${r.url()} ${state}`);
    return [page.url(), ...last, ...complaints, text.slice(0, 2_000)].join("\n");
  };
  shown.add(seen);
  page.on("close", () => shown.delete(seen));
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning")
      complaints.push(`${message.text()} ${message.location().url}`);
  });
  page.on("pageerror", (error) => complaints.push(`${error.name}: ${error.message}`));
  page.on("request", (request) => {
    if (!request.url().startsWith(server.record.url)) complaints.push(`asked ${request.url()}`);
  });
  await page.goto(stranger ? server.record.url : `${server.record.url}/#key=${server.key}`);
  return {
    page,
    complaints,
    go: async (hash) => {
      await page.goto(`${server.record.url}/${hash}`);
    },
    close: () => context.close(),
  };
}

/** What axe finds wrong on the page as it is, in a line each. */
export async function axe(page: Page): Promise<string[]> {
  const source = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
  await page.evaluate(source);
  return await page.evaluate(async () => {
    const run = (globalThis as unknown as { axe: { run(): Promise<AxeResults> } }).axe;
    const { violations } = await run.run();
    return violations.flatMap((v) =>
      v.nodes.map((node) => `${v.id}: ${node.html.slice(0, 160)} ${node.failureSummary}`),
    );
  });
}
interface AxeResults {
  readonly violations: readonly {
    readonly id: string;
    readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[];
  }[];
}
