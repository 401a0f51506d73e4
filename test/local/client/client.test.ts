import { mkdir, mkdtemp, rm, symlink, truncate, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type Api, createApi } from "../../../local/client/api.ts";
import { followRun } from "../../../local/client/follow.ts";
import { chooseModel } from "../../../local/client/models.ts";
import { wholeRunId } from "../../../local/client/run-id.ts";
import { filesAt, mediaTypeOf } from "../../../local/client/upload.ts";
import { TorenError } from "../../../shared/core/errors.ts";
import { FILE_MAX_BYTES } from "../../../shared/core/limits.ts";
import type { RunJson } from "../../../shared/http/run-json.ts";

/** An API that has only the methods named; any other call is a test's mistake. */
const apiWith = (methods: Partial<Api>): Api => methods as Api;
const page = (more = {}) => ({ events: [], next: "c", more: false, ended: false, ...more });
const ended = { runId: "r", status: "completed", endedAt: "2026-01-01T00:00:00Z" } as RunJson;

describe("which model answers", () => {
  test.each([
    [
      "no key: the demo model steps in, and it is said",
      undefined,
      {},
      true,
      { model: "openai/rule-based-1", demo: true },
      /No provider key is set/,
    ],
    [
      "a key is announced, by its variable",
      undefined,
      { OPENAI_API_KEY: "sk-1" },
      true,
      { model: null, demo: false },
      /^Using OPENAI_API_KEY/,
    ],
    [
      "a base URL is a provider too",
      undefined,
      { OPENAI_BASE_URL: "http://x" },
      true,
      { model: null, demo: false },
      /OPENAI_BASE_URL/,
    ],
    [
      "demo leaves a key unspent, and says so",
      "demo",
      { OPENAI_API_KEY: "sk-1" },
      true,
      { model: "openai/rule-based-1", demo: true },
      /OPENAI_API_KEY .* unused/,
    ],
    [
      "a model asked for answers for all roles",
      "openai/x",
      { OPENAI_API_KEY: "sk-1" },
      true,
      { model: "openai/x", demo: false },
      /openai\/x answers/,
    ],
    [
      "where it may not step in, nothing is chosen",
      undefined,
      {},
      false,
      { model: null, demo: false },
      /No provider key is set: .*--model demo/,
    ],
    [
      "of several keys each is named",
      undefined,
      { ANTHROPIC_API_KEY: "sk-1", OPENAI_API_KEY: "sk-1", AWS_BEARER_TOKEN_BEDROCK: "sk-1" },
      true,
      { model: null, demo: false },
      /^Using ANTHROPIC_API_KEY and OPENAI_API_KEY and AWS_BEARER_TOKEN_BEDROCK of/,
    ],
    [
      "a region alone is no wish for Bedrock",
      undefined,
      { AWS_REGION: "eu-west-1", AWS_PROFILE: "me" },
      true,
      { model: "openai/rule-based-1", demo: true },
      /No provider key is set/,
    ],
    ["an empty variable is none", undefined, { OPENAI_API_KEY: "" }, true, { demo: true }, /No provider key/],
  ])("%s", (_what, asked, env, unasked, choice, notice) => {
    const chosen = chooseModel(asked, env, unasked);
    expect(chosen).toMatchObject(choice);
    expect(chosen.notice).toMatch(notice);
    expect(chosen.notice).not.toContain("sk-1");
  });
});

describe("following a run", () => {
  const following = (more = {}) => ({
    onRun: () => {},
    onTrouble: () => {},
    reconnect: async () => null,
    signal: new AbortController().signal,
    ...more,
  });
  const away = new TorenError("server.unreachable", "No server answers.");

  test("reads the run anew when its log has grown, and ends with it", async () => {
    const seen: string[] = [];
    let reads = 0;
    const api = apiWith({
      events: async (_, { after } = {}) => page({ next: `${after}+` }),
      run: async () => (++reads < 3 ? { ...ended, status: "running", endedAt: null } : ended),
    });
    const run = await followRun(api, "r", following({ onRun: (r: RunJson) => seen.push(r.status) }));
    expect(run).toBe(ended);
    expect(seen).toEqual(["running", "running", "completed"]);
  });

  test("names of waves come from the run's own events", async () => {
    const names: unknown[] = [];
    const planned = { stream: "run", seq: 2, type: "WavePlanned", recordedAt: "", payload: { wave: 3, name: "dig" } };
    const api = apiWith({ events: async () => page({ events: [planned] }), run: async () => ended });
    await followRun(api, "r", following({ onRun: (_: RunJson, n: Map<number, string>) => names.push([...n]) }));
    expect(names).toEqual([[[3, "dig"]]]);
  });

  test("goes on with another server where the first one went away, from where it was", async () => {
    const asked: (string | undefined)[] = [];
    let calls = 0;
    const first = apiWith({
      events: async () => {
        if (++calls > 1) throw away;
        return page({ next: "c1" });
      },
      run: async () => ({ ...ended, endedAt: null }),
    });
    const second = apiWith({
      events: async (_, query) => {
        asked.push(String(query?.after));
        return page();
      },
      run: async () => ended,
    });
    const troubles: string[] = [];
    const run = await followRun(
      first,
      "r",
      following({ reconnect: async () => second, onTrouble: (t: string) => troubles.push(t) }),
    );
    expect(run).toBe(ended);
    expect(asked).toEqual(["c1"]);
    expect(troubles).toEqual(["No server answers. Waiting for it …"]);
  });

  test("what waiting doesn't mend is thrown at once", async () => {
    const api = apiWith({
      events: async () => {
        throw new TorenError("auth.invalid", "no");
      },
    });
    await expect(followRun(api, "r", following())).rejects.toMatchObject({ code: "auth.invalid" });
  });

  test("an abort ends it without a run", async () => {
    const abort = new AbortController();
    const api = apiWith({
      events: async () => {
        abort.abort();
        throw away;
      },
    });
    expect(await followRun(api, "r", following({ signal: abort.signal }))).toBeNull();
  });

  test("a run that nobody begins: it is said once that a worker may be missing", async () => {
    const said: string[] = [];
    const waits: (string | undefined)[] = [];
    const api = apiWith({
      events: async (_, query) => {
        waits.push(String(query?.wait));
        return page();
      },
      run: async () => (waits.length < 4 ? { ...ended, status: "created", endedAt: null } : ended),
    });
    await followRun(api, "r", following({ onTrouble: (text: string) => said.push(text) }));
    expect(said).toEqual([expect.stringContaining("toren worker")]);
    expect(waits).toEqual(["0", "5", "20", "20"]);
  });
});

describe("a run's id as people type it", () => {
  const ids = [
    "aaaa1111-0000-4000-8000-000000000000",
    "aaaa2222-0000-4000-8000-000000000000",
    "bbbb0000-0000-4000-8000-000000000000",
  ];
  const api = apiWith({
    list: async ({ cursor } = {}) => {
      const at = Number(cursor ?? 0);
      return {
        runs: ids.slice(at, at + 1).map((runId) => ({ ...ended, runId })),
        next: at + 1 < ids.length ? String(at + 1) : null,
      };
    },
  });

  test("any beginning that one run has, looked for on all pages", async () => {
    expect(await wholeRunId(api, "BBBB")).toBe(ids[2]);
    expect(await wholeRunId(api, "aaaa2")).toBe(ids[1]);
    expect(await wholeRunId(api, ids[0] ?? "")).toBe(ids[0]);
  });

  test("an old run is looked for by the server; of too short a beginning it is said that not all were looked at", async () => {
    const asked: unknown[] = [];
    const many = apiWith({
      list: async ({ text } = {}) => {
        asked.push(text);
        const found = { ...ended, runId: ids[2] ?? "" };
        return text === undefined ? { runs: [], next: "more" } : { runs: [found], next: null };
      },
    });
    expect(await wholeRunId(many, "bbbb")).toBe(ids[2]);
    expect(asked).toEqual(["bbbb"]);
    await expect(wholeRunId(many, "bbb")).rejects.toThrow(/None of the newest runs' ids begins with "bbb"\. Give more/);
  });

  test("one that several have, or none, is refused with what is there", async () => {
    await expect(wholeRunId(api, "aaaa")).rejects.toThrow(/2 runs' ids begin with "aaaa": aaaa1111.*aaaa2222/);
    await expect(wholeRunId(api, "cccc")).rejects.toMatchObject({ code: "run.unknown" });
    await expect(wholeRunId(api, "last")).rejects.toMatchObject({ code: "run.unknown" });
  });
});

describe("files to attach", () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "toren-files-"));
    await mkdir(join(folder, "docs/deep/.git"), { recursive: true });
    for (const [path, text] of Object.entries({
      "b.md": "b",
      "a.txt": "",
      "deep/c.txt": "c",
      "deep/.git/x": "x",
      ".env": "SECRET",
    })) {
      await writeFile(join(folder, "docs", path), text);
    }
    await symlink("/etc/passwd", join(folder, "docs/link"));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  test("a folder's, in order, by relative names; hidden ones and links stay", async () => {
    const files = await filesAt([join(folder, "docs")]);
    expect(files.map((file) => file.name)).toEqual(["a.txt", "b.md", "deep/c.txt"]);
    expect((await filesAt([join(folder, "docs/b.md")])).map((file) => file.name)).toEqual(["b.md"]);
  });

  test("nothing there, and too much, are said before anything is sent", async () => {
    await mkdir(join(folder, "empty"));
    await expect(filesAt([join(folder, "empty")])).rejects.toThrow(/No files are in/);
    await expect(filesAt([join(folder, "no")])).rejects.toThrow(/no file or folder/);
    const large = join(folder, "large.bin");
    await writeFile(large, "");
    await truncate(large, FILE_MAX_BYTES + 1);
    await expect(filesAt([large])).rejects.toThrow(/large\.bin has 33554433 bytes; 33554432 are the most/);
  });

  test("what they are is told by name, else by content", () => {
    const bytes = (text: string) => new TextEncoder().encode(text);
    expect(mediaTypeOf("a.MD", bytes("x"))).toBe("text/markdown");
    expect(mediaTypeOf("LICENSE", bytes("free"))).toBe("text/plain");
    expect(mediaTypeOf("x.bin", Uint8Array.of(0, 1))).toBe("application/octet-stream");
    expect(mediaTypeOf("x.dat", Uint8Array.of(0xff, 0xfe))).toBe("application/octet-stream");
  });
});

describe("what answers", () => {
  test("a server that isn't ours is told from one that isn't there", async () => {
    const stranger = createServer((_, response) => response.end("<html>"));
    await new Promise<void>((resolve) => stranger.listen(0, "127.0.0.1", resolve));
    const { port } = stranger.address() as AddressInfo;
    const asking = createApi(`http://127.0.0.1:${port}/`, "k").run("r");
    await expect(asking).rejects.toMatchObject({
      code: "server.unreachable",
      message: expect.stringContaining("isn't a Toren server"),
    });
    await new Promise((resolve) => stranger.close(resolve));
    const gone = createApi(`http://127.0.0.1:${port}`, "k");
    await expect(gone.run("r")).rejects.toMatchObject({ message: expect.stringContaining("ECONNREFUSED") });
    expect(await gone.healthy()).toBe(false);
  });
});
