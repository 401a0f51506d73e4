import { describe, expect, test } from "@jest/globals";
import { createJsonLog } from "../../../shared/adapters/log/json.ts";
import { redacted } from "../../../shared/adapters/log/redact.ts";
import { LOG_FIELD_MAX_CHARS } from "../../../shared/core/limits.ts";
import { newKey } from "../../../shared/http/auth.ts";

function written(more: Partial<Parameters<typeof createJsonLog>[0]> = {}) {
  const lines: string[] = [];
  return { lines, log: createJsonLog({ write: (line) => lines.push(line), ...more }) };
}
const parsed = (line: string | undefined): Record<string, unknown> => JSON.parse(line ?? "");

describe("the JSON log", () => {
  test("one line a record: time, level, message, what is on every line, its own fields, and what is known about it", () => {
    const { lines, log } = written({
      fields: { function: "task" },
      about: ({ runId }) => (runId === "r" ? { traceId: "t" } : null),
    });
    log.info("worked", { runId: "r", ms: 3, taskId: null });
    log.warn("two\nlines");
    log.error("failed");
    expect(lines.every((line) => line.endsWith("\n") && line.indexOf("\n") === line.length - 1)).toBe(true);
    const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
    expect(lines.map(parsed)).toEqual([
      { time, level: "info", message: "worked", function: "task", runId: "r", ms: 3, taskId: null, traceId: "t" },
      { time, level: "warn", message: "two\nlines", function: "task" },
      { time, level: "error", message: "failed", function: "task" },
    ]);
    expect(Object.keys(parsed(lines[0])).slice(0, 3)).toEqual(["time", "level", "message"]);
  });

  test("no field takes the place of time, level or message", () => {
    const { lines, log } = written({ fields: { level: "debug" } });
    log.error("broken", { message: "fine", level: "info", time: "never" });
    expect(parsed(lines[0])).toMatchObject({ level: "error", message: "broken", time: expect.stringMatching(/Z$/) });
  });

  test("what JSON can't say does no harm: NaN, undefined, a lone surrogate, a NUL", () => {
    const { lines, log } = written();
    log.info("odd", { a: Number.NaN, b: undefined, c: "\ud83d", d: "\u0000" });
    expect(parsed(lines[0])).toMatchObject({ a: null, c: "\ud83d", d: "\u0000" });
    expect(lines[0]?.isWellFormed()).toBe(true);
  });

  test("I11: a long text is cut", () => {
    const { lines, log } = written();
    log.warn("x".repeat(10_000), { error: "y".repeat(1_000_000) });
    expect(parsed(lines[0]).error).toBe(`${"y".repeat(LOG_FIELD_MAX_CHARS)}…`);
    expect(lines[0]?.length).toBeLessThan(3 * LOG_FIELD_MAX_CHARS);
  });
});

describe("what looks like a secret is starred, in messages and in fields", () => {
  const KEY = newKey();
  test.each([
    [
      "a database's URL",
      "can't reach postgres://toren:hunter2@db:5432/x",
      "can't reach postgres://toren:***@db:5432/x",
    ],
    ["an RDS token in a URL", "postgres://u:db.x.com%3A5432%2F%3FAction%3Dconnect@db/x", "postgres://u:***@db/x"],
    [
      "a provider's key",
      "Incorrect API key provided: sk-proj-abcDEF123456_7890.",
      "Incorrect API key provided: sk-***.",
    ],
    ["another's", "x-api-key sk-ant-api03-AbCdEf0123456789", "x-api-key sk-***"],
    ["ours", `the key ${KEY} is wrong`, "the key toren_*** is wrong"],
    ["a header", "authorization: Bearer abcdef1234567890", "authorization: Bearer ***"],
    ["AWS credentials", "AKIAIOSFODNN7EXAMPLE is not authorized", "AKIA*** is not authorized"],
    ["a signed URL", "GET /x?X-Amz-Signature=0123abcd&x=1", "GET /x?X-Amz-Signature=***&x=1"],
    ["a password by its name", 'password="hunter22" failed', 'password="***" failed'],
    ["a bot's token", "/bot123456789:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw/getMe", "/bot***/getMe"],
    ["a web token", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc", "eyJ***"],
  ])("%s", (_, text, clean) => {
    expect(redacted(text)).toBe(clean);
    const { lines, log } = written({ fields: { fixed: text } });
    log.error(text, { error: text });
    expect(parsed(lines[0])).toMatchObject({ message: clean, error: clean, fixed: clean });
  });

  test.each([
    "run 0af76519-16cd-43dd-8448-eb211c80319c of crew: generation 3 wrote this stream, this worker has 2",
    "The schema agent_crew is at version 4; this code serves 1 to 3: run `toren migrate`.",
    "postgres://127.0.0.1:5432/toren",
    "http://localhost:8080/path?x=1 at 12:30:15",
    "The model's answer of 20000000 bytes is over the limit of 16777216 bytes.",
    "tasks-short sk-1 token 12 tokens: 4096",
  ])("what isn't one stays: %s", (text) => {
    expect(redacted(text)).toBe(text);
  });
});
