import { describe, expect, test } from "@jest/globals";
import * as fc from "fast-check";
import type { RawEvent } from "../../shared/core/events.ts";
import {
  EVENT_FIELD_BRIEF_BYTES,
  EVENTS_CURSOR_CHARS,
  EVENTS_PAGE,
  EVENTS_PAGE_BYTES,
  EVENTS_POLL_MS,
} from "../../shared/core/limits.ts";
import { decodeCursor, encodeCursor } from "../../shared/http/cursor.ts";
import type { Page } from "../../shared/http/events-page.ts";
import { fakeApp, RUN, streamRow } from "./fakes.ts";

const event = (seq: number, recordedAt: number, payload: RawEvent["payload"] = {}): RawEvent => ({
  seq,
  type: "E",
  payload,
  recordedAt,
});
const log = (n: number, at = (seq: number) => seq): RawEvent[] =>
  Array.from({ length: n }, (_, i) => event(i + 1, at(i + 1)));

type Logs = Record<string, RawEvent[]>;
const appOver = (logs: Logs, extra: Parameters<typeof fakeApp>[0] = {}, status: "ended" | "running" = "ended") =>
  fakeApp({
    streams: () => Object.entries(logs).map(([id, events]) => streamRow(id, events.length, status)),
    log: (id) => logs[id] ?? [],
    ...extra,
  });
const page = async (app: ReturnType<typeof fakeApp>, query = ""): Promise<Page> =>
  (await (await app.ask(`/runs/${RUN}/events${query}`)).json()) as Page;

describe("the cursor", () => {
  test("comes back as it was written", () => {
    const streams = fc.dictionary(
      fc.oneof(
        fc.constant("run"),
        fc.tuple(fc.nat(40), fc.nat(1_000)).map(([w, t]) => `task:w${w}t${t}`),
      ),
      fc.nat(1_000_000),
    );
    fc.assert(
      fc.property(streams, (heads) => {
        const read = decodeCursor(encodeCursor(new Map(Object.entries(heads))));
        // A stream that wasn't read, and one read up to 0, are the same.
        const some = [...read].filter(([, head]) => head > 0).sort();
        return (
          JSON.stringify(some) ===
          JSON.stringify(
            Object.entries(heads)
              .filter(([, head]) => head > 0)
              .sort(),
          )
        );
      }),
    );
  });

  test("longer than any of ours is refused unread", () => {
    expect(() => decodeCursor(`e1.0.0-${"1_".repeat(20_000)}1`)).toThrow(/isn't a cursor/);
  });

  test("of a thousand tasks fits into a request line", () => {
    const heads = new Map(Array.from({ length: 1_000 }, (_, i) => [`task:w7t${i}`, 10 + ((i * 7919) % 90)]));
    expect(encodeCursor(heads).length).toBeLessThan(EVENTS_CURSOR_CHARS);
  });

  test.each(["x", "e1", "e2.0", "e1.0.1", "e1.0.1-", "e1.0.0-zzzzzzzz*1", "e1.-1", "e1.0.0-1*2*"])(
    "%p isn't one, and is refused",
    async (after) => {
      const response = await appOver({ run: log(1) }).ask(`/runs/${RUN}/events?after=${after}`);
      expect(response.status).toBe(400);
    },
  );
});

describe("a page of events", () => {
  test("pages over several streams hold every event once, each stream in order", async () => {
    const logs = {
      run: log(700),
      "task:w0t0": log(350, (s) => s * 2),
      "task:w0t1": log(1),
      "task:w1t0": log(40, (s) => 1_000 - s),
    };
    const app = appOver(logs);
    const seen: Record<string, number[]> = {};
    let after = "";
    let pages = 0;
    for (let ended = false; !ended; pages++) {
      const got = await page(app, `?after=${after}`);
      expect(got.events.length).toBeLessThanOrEqual(EVENTS_PAGE);
      for (const e of got.events) seen[e.stream] = [...(seen[e.stream] ?? []), e.seq];
      after = got.next;
      ended = got.ended;
      expect(got.more).toBe(!ended);
    }
    expect(pages).toBe(3);
    expect(seen).toEqual(
      Object.fromEntries(Object.entries(logs).map(([id, events]) => [id, events.map((e) => e.seq)])),
    );
  });

  test("events of different streams come by time", async () => {
    const got = await page(appOver({ run: [event(1, 10), event(2, 40)], "task:w0t0": [event(1, 20), event(2, 30)] }));
    expect(got.events.map((e) => `${e.stream} ${e.seq}`)).toEqual(["run 1", "task:w0t0 1", "task:w0t0 2", "run 2"]);
  });

  test("one stream is read by its seq", async () => {
    const app = appOver({ run: log(3), "task:w0t0": log(2) });
    const got = await page(app, "?stream=run&after=1");
    expect(got.events.map((e) => e.seq)).toEqual([2, 3]);
    expect(got).toMatchObject({ next: "3", more: false, ended: true });
    expect((await app.ask(`/runs/${RUN}/events?stream=task:w9t9`)).status).toBe(404);
    expect((await app.ask(`/runs/${RUN}/events?stream=run&after=e1.0`)).status).toBe(400);
  });

  test("large fields are left out by name, and there when asked for in full", async () => {
    const big = "x".repeat(EVENT_FIELD_BRIEF_BYTES);
    const app = appOver({ run: [event(1, 1, { op: 1, value: big })] });
    expect((await page(app)).events[0]).toMatchObject({ payload: { op: 1 }, omitted: ["value"] });
    const full = (await page(app, "?full")).events[0];
    expect(full).toMatchObject({ payload: { op: 1, value: big } });
    expect(full).not.toHaveProperty("omitted");
  });

  test("a page ends with its bytes, but holds at least one event", async () => {
    const huge = { value: "x".repeat(EVENTS_PAGE_BYTES) };
    const got = await page(appOver({ run: [event(1, 1, huge), event(2, 2, huge)] }), "?full=1");
    expect(got).toMatchObject({ more: true, ended: false });
    expect(got.events.map((e) => e.seq)).toEqual([1]);
  });
});

describe("waiting for the next page", () => {
  test("asks once a second, returns with what came, and no later than asked", async () => {
    const logs: Logs = { run: log(1) };
    let slept = 0;
    let reads = 0;
    const app = appOver(
      logs,
      {
        streams: () => {
          reads++;
          return [streamRow("run", logs.run?.length ?? 0)];
        },
        sleep: async (ms) => {
          slept += ms;
          if (slept === 3 * EVENTS_POLL_MS) logs.run = log(2);
        },
      },
      "running",
    );
    const got = await page(app, "?stream=run&after=1&wait=20");
    expect(got.events.map((e) => e.seq)).toEqual([2]);
    expect({ slept, reads }).toEqual({ slept: 3 * EVENTS_POLL_MS, reads: 4 });
    const nothing = await page(app, "?stream=run&after=2&wait=1.5");
    expect(nothing).toMatchObject({ events: [], next: "2", more: false, ended: false });
    expect(slept).toBe(4.5 * EVENTS_POLL_MS);
  });

  test("a run that has ended isn't waited for", async () => {
    let slept = 0;
    const app = appOver(
      { run: log(1) },
      {
        sleep: async (ms) => {
          slept += ms;
        },
      },
    );
    expect(await page(app, "?stream=run&after=1&wait=20")).toMatchObject({ events: [], ended: true });
    expect(slept).toBe(0);
  });

  test("ends with the client that waits", async () => {
    const client = new AbortController();
    let asked = 0;
    const app = appOver(
      { run: log(1) },
      {
        sleep: async () => {
          asked++;
          client.abort();
        },
      },
      "running",
    );
    await app.ask(`/runs/${RUN}/events?stream=run&after=1&wait=20`, { signal: client.signal });
    expect(asked).toBe(1);
  });

  test.each(["21", "-1", "x"])("wait=%s is refused", async (wait) => {
    expect((await appOver({ run: log(1) }).ask(`/runs/${RUN}/events?wait=${wait}`)).status).toBe(400);
  });
});
