// A run's events as server-sent events: pages as they come, between them what models say, and nothing that is on record already.
import { describe, expect, test } from "@jest/globals";
import type { RawEvent } from "../../shared/core/events.ts";
import { withEventStreams } from "../../shared/http/event-streams.ts";
import type { LiveIn, LivePiece } from "../../shared/ports/live.ts";
import type { StreamRow } from "../../shared/ports/store.ts";
import { until } from "../engine/support.ts";
import { type Fakes, fakeApp, KEY, RUN, streamRow } from "./fakes.ts";

const TASK = "task:w0t0";
const event = (seq: number, type: string): RawEvent => ({
  seq,
  type,
  payload: { stepId: "s0" },
  recordedAt: seq * 1_000,
});
const piece = (call: number, text: string, more: Partial<LivePiece> = {}): LivePiece => ({
  stream: TASK,
  stepId: "s0",
  call,
  attempt: 0,
  type: "text",
  at: 0,
  text,
  ...more,
});

/** A run of one task whose log grows, a watcher's side that a test speaks through, and a reader. */
function watched(events: readonly RawEvent[], fakes: Fakes = {}, remainingMs?: () => number) {
  const log = [...events];
  const state = {
    status: "running" as StreamRow["status"],
    watching: 0,
    say: (_: LivePiece): void => {},
    grew: () => {},
  };
  const { app } = fakeApp({
    streams: () => [streamRow(TASK, log.at(-1)?.seq ?? 0, state.status)],
    log: () => log,
    sleep: (_ms, signal) => new Promise((r) => setTimeout(r, signal?.aborted ? 0 : 10)),
    ...fakes,
  });
  const live: LiveIn = {
    watch: (runId, on, grew = () => {}) => {
      expect(runId).toBe(RUN);
      state.watching++;
      Object.assign(state, { say: on, grew });
      return () => {
        state.watching--;
      };
    },
    close: async () => {},
  };
  const closing = new AbortController();
  const streams = withEventStreams(app, {
    live,
    closing: closing.signal,
    ...(remainingMs === undefined ? {} : { remainingMs }),
  });
  const ask = async (path = "", headers: Record<string, string> = {}, signal?: AbortSignal) => {
    const response = await streams.request(`/runs/${RUN}/events${path}`, {
      headers: { authorization: `Bearer ${KEY}`, accept: "text/event-stream", ...headers },
      ...(signal === undefined ? {} : { signal }),
    });
    const reader = { text: "", over: false };
    const reading = (async () => {
      const decoder = new TextDecoder();
      for await (const chunk of response.body ?? [])
        reader.text += decoder.decode(chunk as Uint8Array, { stream: true });
      reader.over = true;
    })();
    return { response, reader, reading: reading.catch(() => {}) };
  };
  return { log, state, ask, closing, streams };
}
const blocks = (text: string): string[] => text.split("\n\n").filter((block) => block !== "" && !block.startsWith(":"));
const deltas = (text: string): string[] =>
  [...text.matchAll(/^event: delta\ndata: (.*)$/gm)].map(([, data]) => (JSON.parse(data as string) as LivePiece).text);

describe("a stream of events", () => {
  test("holds the log and what is said between, without ids for that, and ends with the run", async () => {
    const { log, state, ask } = watched([event(1, "TaskStarted"), event(2, "LlmCallStarted")]);
    const { response, reader, reading } = await ask();
    expect(response.headers.get("content-type")).toMatch("text/event-stream");
    await until(() => state.watching === 1 && reader.text.includes("LlmCallStarted"));
    state.say(piece(2, "Hel"));
    state.say(piece(2, "lo.", { at: 3 }));
    await until(() => deltas(reader.text).length === 2);
    log.push(event(3, "LlmCallCompleted"), event(4, "TaskCompleted"));
    state.status = "ended";
    await reading;
    const names = blocks(reader.text).map((block) => /^event: (.*)$/m.exec(block)?.[1]);
    expect(names).toEqual([
      "TaskStarted",
      "LlmCallStarted",
      "delta",
      "delta",
      "LlmCallCompleted",
      "TaskCompleted",
      "end",
    ]);
    expect(blocks(reader.text).filter((block) => /^event: delta/m.test(block) && /^id:/m.test(block))).toEqual([]);
    expect(state.watching).toBe(0);
  });

  test("what is recorded is read as soon as it is said to be there, not at the next look", async () => {
    const never: Fakes = {
      sleep: (_ms, signal) => new Promise((r) => signal?.addEventListener("abort", () => r(), { once: true })),
    };
    const { log, state, ask, closing } = watched([event(1, "TaskStarted")], never);
    const { reader, reading } = await ask();
    await until(() => state.watching === 1 && reader.text.includes("TaskStarted"));
    for (const [seq, type] of [
      [2, "LlmCallStarted"],
      [3, "LlmCallCompleted"],
    ] as const) {
      log.push(event(seq, type));
      await until(() => {
        state.grew(); // one that comes between two looks is caught by the look that follows
        return reader.text.includes(type);
      });
    }
    closing.abort();
    state.grew();
    await reading;
    expect(state.watching).toBe(0);
  });

  test("what comes late, of a call that is on record, is dropped", async () => {
    const { log, state, ask, closing } = watched([event(1, "TaskStarted"), event(2, "LlmCallStarted")]);
    const { reader, reading } = await ask();
    await until(() => state.watching === 1);
    log.push(event(3, "LlmCallCompleted"), event(4, "LlmCallStarted"));
    await until(() => reader.text.includes("LlmCallCompleted"));
    state.say(piece(2, "late"));
    state.say(piece(4, "new"));
    await until(() => deltas(reader.text).length === 1);
    expect(deltas(reader.text)).toEqual(["new"]);
    closing.abort();
    await reading;
  });

  test("of one stream alone, where that is asked for", async () => {
    const { state, ask, closing } = watched([event(1, "TaskStarted")]);
    const { reader, reading } = await ask(`?stream=${TASK}`);
    await until(() => state.watching === 1);
    state.say(piece(1, "other", { stream: "task:w0t1" }));
    state.say(piece(1, "mine"));
    await until(() => deltas(reader.text).length > 0);
    expect(deltas(reader.text)).toEqual(["mine"]);
    closing.abort();
    await reading;
  });

  test("goes on after Last-Event-ID: what was read isn't sent again", async () => {
    const { log, ask, closing, state } = watched([event(1, "TaskStarted"), event(2, "LlmCallStarted")]);
    const first = await ask();
    await until(() => first.reader.text.includes("LlmCallStarted") && state.watching === 1);
    state.say(piece(2, "Half of an ans"));
    await until(() => deltas(first.reader.text).length === 1);
    const id = /^id: (.*)$/m.exec(first.reader.text)?.[1] ?? "";
    expect(id).not.toBe("");
    closing.abort();
    await first.reading;
    const answer = { response: { content: [{ type: "text", text: "Half of an answer, and all of it." }] } };
    const again = watched([...log, { ...event(3, "LlmCallCompleted"), payload: answer }]);
    again.state.status = "ended";
    const second = await again.ask("", { "last-event-id": id });
    await second.reading;
    expect(second.reader.text).toContain("LlmCallCompleted");
    expect(second.reader.text).toContain("Half of an answer, and all of it."); // on record, whatever of it was heard before
    expect(deltas(second.reader.text)).toEqual([]);
    expect(second.reader.text).not.toContain("LlmCallStarted");
    expect(state.watching).toBe(0);
  });

  test("ends before its answer's time does, for the reader to come again", async () => {
    let left = 3_100;
    const { ask, state } = watched([event(1, "TaskStarted")], {}, () => left);
    const { reader, reading } = await ask();
    left = 0;
    await reading;
    expect(reader.over).toBe(true);
    expect(reader.text).not.toContain("event: end");
    expect(state.watching).toBe(0);
  });

  test("a reader that reads too slowly costs a bounded memory", async () => {
    const { state, ask, closing } = watched([event(1, "TaskStarted")]);
    const response = ask();
    await until(() => state.watching === 1);
    for (let n = 0; n < 50_000; n++) state.say(piece(1, `${n}`));
    const { reader, reading } = await response;
    await until(() => deltas(reader.text).length > 100);
    closing.abort();
    await reading;
    expect(deltas(reader.text).length).toBeLessThanOrEqual(1_000);
  });

  test("who may not read gets a problem, as for a page; who asks for JSON gets pages", async () => {
    const { streams, ask, closing } = watched([event(1, "TaskStarted")]);
    expect((await streams.request(`/runs/${RUN}/events`, { headers: { accept: "text/event-stream" } })).status).toBe(
      401,
    );
    const other = await streams.request(`/runs/01980f2e-7c1a-4d5b-9e3f-000000000009/events`, {
      headers: { authorization: `Bearer ${KEY}`, accept: "text/event-stream" },
    });
    expect(other.status).toBe(404);
    expect(other.headers.get("content-type")).toMatch("problem+json");
    const { response } = await ask("", { accept: "application/json" });
    expect(response.headers.get("content-type")).toMatch("application/json");
    closing.abort();
  });
});
