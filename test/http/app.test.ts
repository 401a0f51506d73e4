import { describe, expect, test } from "@jest/globals";
import { ERRORS, TorenError } from "../../shared/core/errors.ts";
import { FILE_MAX_BYTES } from "../../shared/core/limits.ts";
import { ROUTES } from "../../shared/http/app.ts";
import { newKey } from "../../shared/http/auth.ts";
import { openApi } from "../../shared/http/openapi.ts";
import { STATUS } from "../../shared/http/problems.ts";
import type { Files } from "../../shared/ports/files.ts";
import { fakeApp, KEY, problem, RUN } from "./fakes.ts";

describe("who may ask", () => {
  test("health is open, everything else needs a key, unknown paths too", async () => {
    const { app } = fakeApp();
    expect((await app.request("/healthz")).status).toBe(200);
    for (const route of ROUTES.filter((r) => r.scope !== "open")) {
      const response = await app.request(route.path, { method: route.method });
      expect([route.path, response.status]).toEqual([route.path, 401]);
      expect((await problem(response)).code).toBe("auth.missing");
    }
    expect((await app.request("/nowhere")).status).toBe(401);
  });

  test("a wrong checksum and an unknown key are refused; garbage without asking who knows it", async () => {
    const { app } = fakeApp();
    const as = (key: string) => app.request("/agents", { headers: { authorization: `Bearer ${key}` } });
    const mistyped = `${KEY.slice(0, -1)}${KEY.endsWith("A") ? "B" : "A"}`;
    expect((await problem(await as(mistyped))).detail).toContain("checksum");
    expect((await problem(await as(newKey()))).detail).toContain("isn't known");
    expect((await as(KEY)).status).toBe(200);
    expect((await app.request("/agents", { headers: { authorization: `Basic ${KEY}` } })).status).toBe(401);
  });
});

describe("what isn't as a route takes it", () => {
  test("a known path with another method is 405, with those that it takes", async () => {
    const { ask } = fakeApp({}, "/prod");
    for (const [method, path, allow] of [
      ["DELETE", "/prod/runs", "POST, GET"],
      ["POST", `/prod/runs/${RUN}`, "DELETE, GET"],
      ["GET", `/prod/runs/${RUN}/cancel`, "POST"],
    ] as const) {
      const response = await ask(path, { method });
      expect([response.status, response.headers.get("allow")]).toEqual([405, allow]);
      expect((await problem(response)).code).toBe("method_not_allowed");
    }
    expect((await ask("/prod/run", { method: "DELETE" })).status).toBe(404);
    expect((await ask("/prod/openapiXjson", { method: "DELETE" })).status).toBe(404);
  });

  test("a wrong parameter or field is said in a sentence of ours", async () => {
    const { ask, post } = fakeApp();
    const detail = async (response: Response) => (await problem(response)).detail;
    expect(await detail(await ask("/runs?limt=3"))).toBe("A parameter is wrong: limt is not known here.");
    expect(await detail(await ask("/runs?limit=many"))).toBe("A parameter is wrong: limit must be a number.");
    expect(await detail(await post("/runs", { agnt: "echo", input: 1 }))).toBe(
      "The body isn't what this route takes: $.agent is missing; $.agnt is not known here.",
    );
  });
});

describe("reading and steering a run", () => {
  test("an unknown run is 404, and so is what is no id at all", async () => {
    const { ask, post } = fakeApp();
    expect((await problem(await ask("/runs/nope"))).code).toBe("run.unknown");
    expect((await problem(await post("/runs/nope/cancel", {}))).code).toBe("run.unknown");
    expect((await problem(await ask("/runs/00000000-0000-4000-8000-000000000000"))).code).toBe("run.unknown");
    expect((await problem(await ask("/runs/a%00b"))).code).toBe("run.unknown");
  });

  test("cancel and resume: 202 while it lives, 409 when it ended; a body is optional", async () => {
    const reasons: string[] = [];
    const { ask, post } = fakeApp({
      useCases: {
        cancelRun: async ({ reason }) => {
          reasons.push(reason);
          return { type: "told" };
        },
        resumeRun: async () => ({ type: "refused", error: { code: "run.ended", message: "It has ended." } }),
      },
    });
    expect((await ask(`/runs/${RUN}/cancel`, { method: "POST" })).status).toBe(202);
    expect((await post(`/runs/${RUN}/cancel`, { reason: "wrong question" })).status).toBe(202);
    expect(reasons).toEqual(["cancelled by a client", "wrong question"]);
    const ended = await ask(`/runs/${RUN}/resume`, { method: "POST" });
    expect(await problem(ended)).toMatchObject({ status: 409, code: "run.ended" });
  });
});

describe("files", () => {
  test("as a form and as it is", async () => {
    const { ask, uploads } = fakeApp();
    const form = new FormData();
    form.set("file", new File(["héllo"], "notes/a.txt", { type: "text/plain" }));
    expect((await ask("/files", { method: "POST", body: form })).status).toBe(201);
    const raw = await ask("/files?name=b.bin", { method: "POST", body: new Uint8Array(3) });
    expect(await raw.json()).toMatchObject({ name: "b.bin", bytes: 3, mediaType: "application/octet-stream" });
    expect(uploads[0]).toMatchObject({ name: "notes/a.txt", bytes: 6, mediaType: "text/plain" });
  });

  test("are listed with their times", async () => {
    const { ask } = fakeApp();
    await ask("/files?name=a.txt", { method: "POST", body: "x" });
    expect(await (await ask("/files?limit=1")).json()).toEqual({
      files: [expect.objectContaining({ name: "a.txt", pages: null, createdAt: "1970-01-01T00:00:00.000Z" })],
      next: null,
    });
    for (const query of ["limit=0", "limit=201", "cursor=", "what=1"])
      expect((await ask(`/files?${query}`)).status).toBe(400);
  });

  test("one that a run has isn't removed; an unknown one is 404", async () => {
    const attached = { type: "attached", agent: "echo", runId: RUN } as const;
    const { ask } = fakeApp({ files: { remove: async (id) => (id === "f0" ? attached : { type: "unknown" }) } });
    const refused = await problem(await ask("/files/f0", { method: "DELETE" }));
    expect(refused).toMatchObject({ status: 409, code: "file.attached", detail: expect.stringContaining(RUN) });
    expect((await ask("/files/f1", { method: "DELETE" })).status).toBe(404);
    const removed = fakeApp({ files: { remove: async () => ({ type: "removed" }) } });
    expect(await (await removed.ask("/files/f2", { method: "DELETE" })).json()).toEqual({ id: "f2" });
  });

  test.each(["../../etc/passwd", "/etc/passwd", "a//b", "a/./b", "C:\\x", "C:/x", "a\u0000b", "", "x".repeat(256)])(
    "the name %j is refused at the door (c20)",
    async (name) => {
      const response = await fakeApp().ask(`/files?name=${encodeURIComponent(name)}`, { method: "POST", body: "x" });
      expect((await problem(response)).errors?.[0]?.path).toBe("name");
    },
  );

  test("no name, no file and a broken form are refused", async () => {
    const { ask } = fakeApp();
    expect((await ask("/files", { method: "POST", body: "x" })).status).toBe(400);
    expect((await ask("/files", { method: "POST", body: new FormData() })).status).toBe(400);
    const headers = { "content-type": "multipart/form-data; boundary=q" };
    expect((await ask("/files", { method: "POST", body: "no form", headers })).status).toBe(400);
  });

  describe("that are too large for a request", () => {
    const place = { id: "u1", url: "https://files.example.com/u1", expiresInMs: 300_000 };
    /** A server that has such places; what lies there, by id. */
    function placing(there: Record<string, Uint8Array>) {
      const asked: number[] = [];
      const uploads: NonNullable<Files["uploads"]> = {
        begin: async (bytes) => {
          asked.push(bytes);
          return place;
        },
        read: async (id) => there[id] ?? null,
        drop: async (id) => void delete there[id],
      };
      return { asked, there, ...fakeApp({ files: { uploads } }) };
    }
    const begin = async (ask: ReturnType<typeof fakeApp>["ask"], body: unknown) =>
      ask("/uploads", { method: "POST", body: JSON.stringify(body) });

    test("are put where the server says, then named; nothing stays there", async () => {
      const { ask, asked, there, uploads } = placing({ u1: new TextEncoder().encode("a long text") });
      expect(await (await begin(ask, { bytes: 11 })).json()).toEqual({ upload: place });
      expect(asked).toEqual([11]);
      const headers = { "content-type": "text/markdown" };
      const added = await ask("/files?name=long.md&upload=u1", { method: "POST", headers });
      expect([added.status, await added.json()]).toEqual([
        201,
        expect.objectContaining({ name: "long.md", bytes: 11 }),
      ]);
      expect(uploads[0]).toMatchObject({ name: "long.md", mediaType: "text/markdown", bytes: 11 });
      expect(there).toEqual({});
    });

    test("a server without such limits says so; its clients send them as they are", async () => {
      expect(await (await begin(fakeApp().ask, { bytes: 11 })).json()).toEqual({ upload: null });
    });

    test("what nobody put there is 404; a name, and a size that can be, are asked for", async () => {
      for (const { ask } of [placing({}), fakeApp()])
        expect(await problem(await ask("/files?name=a&upload=u1", { method: "POST" }))).toMatchObject({
          status: 404,
          detail: expect.stringContaining('Nothing was put at the upload "u1"'),
        });
      const { ask, asked } = placing({ u1: new Uint8Array(3) });
      expect((await ask("/files?upload=u1", { method: "POST" })).status).toBe(400);
      for (const bytes of [0, 1.5, FILE_MAX_BYTES + 1, "9"]) expect((await begin(ask, { bytes })).status).toBe(400);
      expect(asked).toEqual([]);
    });
  });

  test("a file over the limit is 413, either way", async () => {
    const { ask } = fakeApp();
    const content = new Uint8Array(FILE_MAX_BYTES + 1);
    expect((await ask("/files?name=a", { method: "POST", body: content })).status).toBe(413);
    const form = new FormData();
    form.set("file", new File([content], "a"));
    expect((await ask("/files", { method: "POST", body: form })).status).toBe(413);
  });
});

describe("problems", () => {
  test("a database that is away is 503 and says when to come again", async () => {
    const away = async () => {
      throw new TorenError("database.unavailable", "The database doesn't answer.");
    };
    const response = await fakeApp({ store: { agentOf: away } }).ask(`/runs/${RUN}`);
    expect(response.headers.get("retry-after")).toBe("2");
    expect(await problem(response)).toMatchObject({ status: 503, code: "database.unavailable" });
  });

  test("a bug is 500 and says nothing of itself to the client, but to the log", async () => {
    const { ask, logged } = fakeApp({
      store: {
        agentOf: async () => {
          throw new Error("password=hunter2");
        },
      },
    });
    const response = await ask(`/runs/${RUN}`);
    const text = await response.text();
    expect(response.status).toBe(500);
    expect(text).not.toContain("hunter2");
    expect(logged).toEqual(["request failed password=hunter2"]);
  });

  test("every code that a client can cause has a status", () => {
    const ours = Object.entries(ERRORS).flatMap(([code, e]) => (e.reach === "request" ? [code] : []));
    expect(ours.filter((code) => !(code in STATUS))).toEqual([]);
  });

  test("an unknown route is a problem that says where to look", async () => {
    const refused = await problem(await fakeApp().ask("/nowhere"));
    expect(refused).toMatchObject({ status: 404, code: "not_found" });
    expect(refused.detail).toContain("openapi.json");
  });
});

describe("openapi.json", () => {
  test("describes exactly the routes that there are", async () => {
    const described = Object.entries(openApi.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    );
    expect(described.sort()).toEqual(ROUTES.map((r) => `${r.method} ${r.path}`).sort());
    expect(await (await fakeApp().ask("/openapi.json")).json()).toEqual(JSON.parse(JSON.stringify(openApi)));
  });

  test("every reference leads somewhere", () => {
    const names = [...JSON.stringify(openApi).matchAll(/"#\/components\/schemas\/(\w+)"/g)].map((m) => m[1] ?? "");
    expect(names.length).toBeGreaterThan(5);
    expect(names.filter((name) => !(name in openApi.components.schemas))).toEqual([]);
  });
});
