import { request } from "node:http";
import { connect, createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { createApi } from "../../local/client/api.ts";
import { composeLaptop } from "../../local/compose.ts";
import type { AgentChange } from "../../local/reload.ts";
import { watchFor } from "../../local/server.ts";
import { readServer } from "../../local/state.ts";
import { createScriptedModel } from "../../shared/adapters/model/script.ts";
import { type Bench, createBench } from "./harness.ts";

const model = createScriptedModel(() => "done");
const quiet = { info: () => {}, warn: () => {}, error: () => {} };

let bench: Bench;
beforeEach(async () => {
  bench = await createBench();
});
afterEach(() => bench.close());

/** With any Host header, which fetch wouldn't send. */
const statusFor = (url: string, host: string): Promise<number | undefined> =>
  new Promise((resolve, reject) => {
    const asking = request(`${url}/healthz`, { headers: { host } }, (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    asking.on("error", reject);
    asking.end();
  });

describe("the server on loopback", () => {
  test("answers to loopback's names alone: a page can't reach it by a name that points here", async () => {
    const { record } = await bench.serve(model);
    const { port } = new URL(record.url);
    for (const host of ["localhost", "127.0.0.1", "[::1]"])
      expect(await statusFor(record.url, `${host}:${port}`)).toBe(200);
    for (const host of ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "10.0.0.1"]) {
      expect(await statusFor(record.url, host)).toBe(400);
    }
  });

  test("is noted in the state folder while it runs, and only then", async () => {
    const folder = join(bench.folder, ".toren");
    const server = await bench.serve(model);
    expect(await readServer(folder)).toEqual(server.record);
    await server.close();
    expect(await readServer(folder)).toBeNull();
    await server.close();
  });

  test("takes the place of one that was killed", async () => {
    await bench.write(
      ".toren/server.json",
      JSON.stringify({ url: "http://127.0.0.1:9", pid: process.pid, model: null, kind: "dev" }),
    );
    const server = await bench.serve(model);
    expect((await readServer(join(bench.folder, ".toren")))?.url).toBe(server.record.url);
  });

  test("ends soon although a reader waits for events, and answers that reader", async () => {
    const held = Promise.withResolvers<string>();
    const server = await bench.serve(createScriptedModel(() => held.promise));
    const api = createApi(server.record.url, server.key);
    const { runId } = await api.start({ agent: "echo", input: "x", files: [] }, "k1");
    const heads = (await api.events(runId, { wait: "1" })).next;
    const waiting = api.events(runId, { after: heads, wait: "20" }).then(() => "answered");
    await sleep(100);
    const began = performance.now();
    held.resolve("late");
    await server.close();
    expect(performance.now() - began).toBeLessThan(10_000);
    expect(await waiting).toBe("answered");
  });

  test("a list of an agent that was never here is empty; a wrong cursor is refused", async () => {
    const server = await bench.serve(model);
    const api = createApi(server.record.url, server.key);
    expect(await api.list({ agent: "nobody" })).toEqual({ runs: [], next: null });
    await expect(api.list({ cursor: "garbage" })).rejects.toMatchObject({ code: "request.invalid" });
  });

  test("the same idempotency key is the same run; with another input it is refused", async () => {
    const server = await bench.serve(model);
    const api = createApi(server.record.url, server.key);
    const first = await api.start({ agent: "echo", input: "x", files: [] }, "k1");
    expect(await api.start({ agent: "echo", input: "x", files: [] }, "k1")).toEqual(first);
    await expect(api.start({ agent: "echo", input: "y", files: [] }, "k1")).rejects.toMatchObject({
      code: "idempotency.conflict",
    });
  });

  test("what is wrong with an agent is said to who asks for it, while the others are served", async () => {
    await bench.write("agents/broken/agent.yaml", "name: broken\nroles:\n  main: { modle: mock/script }\n");
    const server = await bench.serve(model);
    const api = createApi(server.record.url, server.key);
    expect((await api.agents()).map((agent) => agent.name)).toEqual(["crew", "echo"]);
    const asking = api.start({ agent: "broken", input: "x", files: [] }, "k1");
    await expect(asking).rejects.toMatchObject({
      code: "agent.invalid",
      message: expect.stringMatching(/agent\.yaml:3: .*modle/),
    });
  });
});

describe("hot reload", () => {
  test("an edit is the next generation, a mistake keeps the code before, and the old code again is a new generation", async () => {
    const changes: { change: AgentChange; generation: number | null }[] = [];
    const server = await bench.serve(model, {
      onAgentChange: (change, generation) => changes.push({ change, generation }),
    });
    const next = async () => {
      const before = changes.length;
      while (changes.length === before) await sleep(20);
      return changes.at(-1);
    };
    const edit = async (system: string) => {
      const changed = next();
      await bench.write(
        "agents/echo/agent.yaml",
        `name: echo\ndescription: d\nroles:\n  main: { model: mock/script, ${system} }\n`,
      );
      return await changed;
    };
    expect(await edit("system: You shout.")).toMatchObject({ change: { type: "loaded" }, generation: 2 });
    expect(await edit("sytem: You shout.")).toMatchObject({
      change: { type: "broken", name: "echo" },
      generation: null,
    });
    expect(server.laptop.agents.get("echo")).toMatchObject({ generation: 2 });
    expect(await edit("system: You whisper.")).toMatchObject({ generation: 3 });
    expect(await edit("system: You shout.")).toMatchObject({ generation: 4 });
  });
});

describe("deployers and workers (I7)", () => {
  const options = () => ({
    stateFolder: join(bench.folder, "worker"),
    agentsFolder: join(bench.folder, "agents"),
    databaseUrl: bench.databaseUrl,
    model: null,
    env: {},
    log: quiet,
  });

  test("I7: a worker never registers code: unregistered it is refused, registered it has the deployer's generation", async () => {
    const first = await composeLaptop({ ...options(), role: "deployer" });
    await first.close();
    const worker = await composeLaptop({ ...options(), role: "worker" });
    expect(worker.agents.get("echo")?.generation).toBe(1);
    await worker.close();
    await bench.write(
      "agents/echo/agent.yaml",
      "name: echo\ndescription: d\nroles:\n  main: { model: mock/script, system: Other. }\n",
    );
    await expect(composeLaptop({ ...options(), role: "worker" })).rejects.toMatchObject({
      code: "agent.not_registered",
    });
  });

  test("one model for all roles is other code, as it is another question", async () => {
    const [own, one] = [
      await composeLaptop({ ...options(), role: "deployer" }),
      await composeLaptop({ ...options(), model: "openai/x", role: "deployer" }),
    ];
    const [agent, other] = [own.agents.get("crew"), one.agents.get("crew")];
    if (!agent || !other) throw new Error("crew isn't served");
    expect([...other.agent.roles.values()].map((role) => role.model)).toEqual(["openai/x", "openai/x"]);
    expect(other.agent.codeHash).not.toBe(agent.agent.codeHash);
    expect(other.generation).toBe(agent.generation + 1);
    expect([own.serves(agent.agent), one.serves(agent.agent), own.serves(other.agent)]).toEqual([true, true, false]);
    await own.close();
    await one.close();
  });

  test("an edit between the loading and the watching is seen, also under one model for all roles", async () => {
    const told: [AgentChange, number | null][] = [];
    const how = {
      ...options(),
      model: "openai/x",
      onAgentChange: (...args: [AgentChange, number | null]) => void told.push(args),
    };
    const laptop = await composeLaptop({ ...how, role: "deployer" });
    const before = laptop.agents.get("echo")?.generation ?? 0;
    await (await watchFor(how, laptop))?.close();
    expect(told).toEqual([]);
    await bench.write(
      "agents/echo/agent.yaml",
      "name: echo\ndescription: d\nroles:\n  main: { model: m/x, system: Edited. }\n",
    );
    await bench.write("agents/crew/agent.yaml", "name: crew\n");
    await (await watchFor(how, laptop))?.close();
    expect(told).toEqual([
      [{ type: "loaded", agent: expect.objectContaining({ name: "echo" }) }, before + 1],
      [{ type: "broken", name: "crew", problems: expect.anything() }, null],
    ]);
    const role = laptop.agents.get("echo")?.agent.roles.get("main");
    expect([role?.system, role?.model]).toEqual(["Edited.", "openai/x"]);
    await laptop.close();
  });

  test("who starts a run of an agent that a reload refused is told what is wrong with it now", async () => {
    const changes: AgentChange[] = [];
    const { record, key } = await bench.serve(model, { onAgentChange: (change) => void changes.push(change) });
    const api = createApi(record.url, key);
    const refused = (text: string) =>
      expect(api.start({ agent: "late", input: "x" })).rejects.toMatchObject({
        message: expect.stringContaining(text),
      });
    const edited = async (yaml: string): Promise<void> => {
      const before = changes.length;
      await bench.write("agents/late/agent.yaml", yaml);
      while (changes.length === before) await sleep(50);
    };
    await edited("name: late\ncolour: red\n");
    await refused("colour");
    await edited("name: late\nshape: round\n");
    await refused("shape");
    await edited("name: late\ndescription: d\nroles:\n  main: { model: mock/script, system: s }\n");
    expect(await api.start({ agent: "late", input: "x" })).toMatchObject({ agent: "late" });
  });

  test("`toren worker` works on what a server without a worker takes in", async () => {
    await bench.serve(model, { worker: false });
    const { value } = await bench.json(["run", "echo", "hello", "--detach"]);
    const { runId } = value as { runId: string };
    await sleep(300);
    expect((await bench.json(["jobs", "show", runId])).value).toMatchObject({ status: "created" });
    const interruption = new AbortController();
    const worker = bench.toren(["worker", "--json"], { signal: interruption.signal });
    // Its models aren't scripted: the run fails, by its hand.
    expect((await bench.toren(["jobs", "tail", runId])).status).toBe(1);
    interruption.abort();
    expect(await worker).toMatchObject({
      status: 0,
      out: `${JSON.stringify({ pid: process.pid, agents: ["crew", "echo"] })}\n`,
    });
  });
});

describe("a database that goes away", () => {
  test("is 503 with Retry-After, and well again when it comes back; nothing was lost", async () => {
    const door = await openDoor(bench.databaseUrl);
    const server = await bench.serve(model, { databaseUrl: door.url });
    const api = createApi(server.record.url, server.key);
    const { runId } = await api.start({ agent: "echo", input: "x", files: [] }, "k1");
    await door.shut();
    const ask = () =>
      fetch(`${server.record.url}/runs/${runId}`, { headers: { authorization: `Bearer ${server.key}` } });
    const away = await ask();
    expect(away.status).toBe(503);
    expect(away.headers.get("retry-after")).toBe("2");
    expect(await away.json()).toMatchObject({ code: "database.unavailable", retryable: true });
    await door.open();
    for (let tries = 0; tries < 50 && (await ask()).status !== 200; tries++) await sleep(200);
    while ((await api.run(runId)).endedAt === null) await sleep(100);
    expect(await api.run(runId)).toMatchObject({ status: "completed", output: "done" });
    await server.close();
    await door.shut();
  });
});

/** A way to the database that can be shut: connections break, new ones are refused. */
async function openDoor(databaseUrl: string) {
  const target = new URL(databaseUrl);
  const sockets = new Set<Socket>();
  let server: Server;
  const listen = async (port: number): Promise<number> => {
    server = createServer((inside) => {
      const outside = connect(Number(target.port), target.hostname);
      for (const socket of [inside, outside]) {
        sockets.add(socket);
        socket.on("error", () => {});
        socket.on("close", () => {
          sockets.delete(socket);
          inside.destroy();
          outside.destroy();
        });
      }
      inside.pipe(outside).pipe(inside);
    });
    await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
    const address = server.address();
    return typeof address === "object" && address !== null ? address.port : 0;
  };
  const port = await listen(0);
  const url = new URL(databaseUrl);
  url.host = `127.0.0.1:${port}`;
  return {
    url: url.href,
    open: async () => void (await listen(port)),
    shut: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
