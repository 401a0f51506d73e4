// `toren/client` against a real server, by the very programs that its page shows.
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { createScriptedModel, type Turn } from "../../shared/adapters/model/script.ts";
import { ApiError, createClient } from "../../shared/client/index.ts";
import { type Bench, createBench } from "../local/harness.ts";

const ROOT = join(import.meta.dirname, "../..");
const FOLDER = join(ROOT, "dist", "client-examples");
const PAGE = readFileSync(join(ROOT, "docs/how-to/use-the-client.md"), "utf8");
const programs = [...PAGE.matchAll(/^## (.+)\n[\s\S]*?^```ts\n([\s\S]*?)^```$/gm)].map(([, title, code]) => ({
  title: title as string,
  code: code as string,
}));

const DESK = "name: desk\ndescription: Pays back.\nmodel: mock/script\nsystem: You pay back.\ntools: [pay]\n";
const PAY = `import { defineTool } from "toren";
import * as z from "zod";
export default defineTool({ name: "pay", description: "Pays.", input: z.object({ to: z.string() }), effects: "external", idempotency: "keyed",
  approval: "always", handler: () => "paid" });
`;
const SHOP = "name: shop\ndescription: Sells.\nroles:\n  clerk: { model: mock/script, system: You sell. }\n";
const SHOP_MAIN = `import { defineWorkflow } from "toren";
export default defineWorkflow(async (ctx) => await ctx.waitFor("paid"));
`;

const model = createScriptedModel((request): Turn => {
  const isResult = request.messages.at(-1)?.content.some((part) => part.type === "toolResult") === true;
  return request.system.includes("pay back") && !isResult ? { tools: [{ name: "pay", args: { to: "ann" } }] } : "done";
});

let bench: Bench;
let env: NodeJS.ProcessEnv;
beforeAll(async () => {
  bench = await createBench();
  await bench.write("agents/desk/agent.yaml", DESK);
  await bench.write("agents/desk/tools.ts", PAY);
  await bench.write("agents/shop/agent.yaml", SHOP);
  await bench.write("agents/shop/workflows/main.ts", SHOP_MAIN);
  const { record, key } = await bench.serve(model);
  env = { ...process.env, TOREN_URL: record.url, TOREN_API_KEY: key };
  await mkdir(FOLDER, { recursive: true });
}, 60_000);
afterAll(async () => {
  await bench?.close();
  await rm(FOLDER, { recursive: true, force: true });
});

const run = async (title: string): Promise<string[]> => {
  const file = join(FOLDER, `${title.replaceAll(/\W+/g, "-")}.ts`);
  await writeFile(file, programs.find((program) => program.title === title)?.code ?? "throw new Error('no program')");
  const { stdout } = await promisify(execFile)(process.execPath, ["--no-warnings", file], { env, cwd: FOLDER });
  return stdout.trim().split("\n");
};

describe("programs that docs/how-to/use-the-client.md shows", () => {
  test("start and wait", async () => {
    expect(await run("Start a run, and wait for it")).toEqual(["completed done", "1"]);
    expect(await run("Start a run, and wait for it")).toEqual(["completed done", "1"]); // the same key: no second run
  });
  test("follow", async () => {
    const lines = await run("Follow what happens");
    expect(lines[0]).toBe("run RunCreated");
    expect(lines).toEqual(expect.arrayContaining(["task:w0t0 LlmCallCompleted", "run RunCompleted"]));
  });
  test("approve", async () => expect(await run("Approve a call")).toEqual(['pay {"to":"ann"}', "completed"]));
  test("signal", async () => expect(await run("Send a signal")).toEqual(['completed {"cents":500}']));
  test("errors", async () => expect(await run("When something is refused")).toEqual(["404 agent.unknown false"]));
  test("there are no others", () => expect(programs).toHaveLength(5));
});

test("a stream is taken up again where it was left: nothing twice, nothing missed", async () => {
  const toren = createClient({ url: env.TOREN_URL ?? "", key: env.TOREN_API_KEY ?? "" });
  const { runId } = await toren.start({ agent: "echo", input: "hello" });
  await toren.wait(runId);
  const seen: string[] = [];
  let after: string | null = null;
  for await (const item of toren.watch(runId)) {
    if (item.type !== "event") continue;
    seen.push(`${item.event.stream} ${item.event.seq}`);
    after = item.after ?? after;
    if (item.after !== null) break;
  }
  for await (const item of toren.watch(runId, { after: after ?? "" }))
    if (item.type === "event") seen.push(`${item.event.stream} ${item.event.seq}`);
  const whole = await toren.events(runId);
  expect(seen).toEqual(whole.events.map(({ stream, seq }) => `${stream} ${seq}`));
});

describe("what isn't a Toren server", () => {
  let server: Server;
  /** Null: it never comes. */
  let answer: (path: string) => { status: number; body: string } | null;
  beforeAll(async () => {
    server = createServer((request, response) => {
      const { status, body } = answer(request.url ?? "") ?? {};
      if (status !== undefined) response.writeHead(status).end(body);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });
  const client = (url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/stage/`, timeoutMs = 60_000) =>
    createClient({ url, key: "toren_x", timeoutMs });

  test("nobody there", async () => {
    const refused = await client("http://127.0.0.1:9")
      .run("r")
      .catch((e: unknown) => e);
    expect(refused).toBeInstanceOf(ApiError);
    expect(refused).toMatchObject({ status: 0, code: "server.unreachable", retryable: true });
    expect(await client("http://127.0.0.1:9").healthy()).toBe(false);
  });

  test("a page of a proxy, with and without success; the stage's path stays, ids are escaped", async () => {
    const asked: string[] = [];
    answer = (path) => {
      asked.push(path);
      return { status: 502, body: "<html>" };
    };
    await expect(client().run("a/../b")).rejects.toMatchObject({ status: 502, code: "server.unreachable" });
    answer = () => ({ status: 200, body: "<html>" });
    await expect(client().agents()).rejects.toMatchObject({ code: "server.unreachable" });
    expect(asked).toEqual(["/stage/runs/a%2F..%2Fb"]);
  });

  test("a code of a later version comes through; a caller's abort is the caller's own", async () => {
    answer = () => ({ status: 418, body: '{"code":"later.code","detail":"Something new.","retryable":true}' });
    await expect(client().run("r")).rejects.toMatchObject({ code: "later.code", message: "Something new." });
    await expect(client().events("r", {}, AbortSignal.abort(new Error("mine")))).rejects.toThrow("mine");
  });

  test("a caller's time limit is the caller's own too; one of the client's is a server that doesn't answer", async () => {
    answer = () => null;
    const mine = AbortSignal.timeout(50);
    const refused = await client()
      .wait("r", { signal: mine })
      .catch((e: unknown) => e);
    expect(refused).toBe(mine.reason);
    await expect(client(undefined, 50).run("r")).rejects.toMatchObject({ status: 0, code: "server.unreachable" });
  });

  test("a stream that breaks off is a server that went away; what isn't given isn't asked for", async () => {
    const asked: string[] = [];
    const breaks = createServer((request, response) => {
      asked.push(request.url ?? "");
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(": nothing yet\n\n", () => response.destroy());
    });
    await new Promise<void>((resolve) => breaks.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(breaks.address() as AddressInfo).port}`;
    const watching = client(url).watch("r", { after: undefined, stream: "run" })[Symbol.asyncIterator]();
    await expect(watching.next()).rejects.toMatchObject({ status: 0, code: "server.unreachable", retryable: true });
    expect(asked).toEqual(["/runs/r/events?stream=run"]);
    breaks.close();
  });

  test("an export that breaks off is no end", async () => {
    answer = () => ({ status: 200, body: '{"table":"runs"}\n{"tab' });
    await expect(client().export("r")).rejects.toMatchObject({ code: "server.unreachable" });
  });
});

test("a file that is large is put where the server says, without the key, and then named; where it says nowhere it is sent as it is", async () => {
  const heard: (string | number | undefined)[][] = [];
  let upload: unknown = null;
  const server = createServer((request, response) => {
    let bytes = 0;
    request.on("data", (part: Buffer) => (bytes += part.length));
    request.on("end", () => {
      heard.push([`${request.method} ${request.url}`, bytes, request.headers.authorization]);
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify(request.url === "/uploads" ? { upload } : { id: "file_1" }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const client = createClient({ url, key: "k" });
  const large = new Uint8Array(5 * 1024 * 1024);
  await client.addFile("small.txt", "text/plain", new Uint8Array(9));
  await client.addFile("large.txt", "text/plain", large);
  upload = { id: "u1", url: `${url}/bucket/u1`, expiresInMs: 60_000 };
  expect(await client.addFile("large.txt", "text/plain", new Blob([large]))).toEqual({ id: "file_1" });
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  expect(heard).toEqual([
    ["POST /files?name=small.txt", 9, "Bearer k"],
    ["POST /uploads", expect.any(Number), "Bearer k"],
    ["POST /files?name=large.txt", large.byteLength, "Bearer k"],
    ["POST /uploads", expect.any(Number), "Bearer k"],
    ["PUT /bucket/u1", large.byteLength, undefined],
    ["POST /files?name=large.txt&upload=u1", 0, "Bearer k"],
  ]);
});
