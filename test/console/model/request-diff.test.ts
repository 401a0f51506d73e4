import { describe, expect, test } from "@jest/globals";
import { folded, lineDiff, requestDiff } from "../../../console/model/request-diff.ts";
import type { CallJson, RequestJson } from "../../../shared/http/call-json.ts";

const request = (more: Partial<RequestJson> = {}): RequestJson => ({
  model: "mock/a",
  system: "one\ntwo",
  tools: [],
  options: {},
  maxTokens: 10,
  outputSchema: null,
  messages: [],
  omitted: 0,
  ...more,
});
const said = (role: "user" | "assistant", text: string) => ({ role, content: [{ type: "text", text }] });
const call = (now: RequestJson | null, before: RequestJson | null, shared = 0): CallJson => {
  const asked = { seq: 5, stepId: "s1", purpose: "step" as const, digest: "d", askedAt: "", exact: true };
  return { ...asked, request: now, previous: { ...asked, seq: 2, stepId: "s0", request: before, shared } };
};
const part = (c: CallJson, name: string) => requestDiff(c)?.find((p) => p.name === name);

describe("two requests", () => {
  test("that differ in a line of the prompt differ there alone", () => {
    const diff = requestDiff(call(request({ system: "one\ntwo and a half\n" }), request({ system: "one\ntwo\n" })));
    expect(diff?.map((p) => [p.name, p.added, p.removed])).toEqual([
      ["System prompt", 1, 1],
      ["Tools", 0, 0],
      ["Settings", 0, 0],
      ["Messages", 0, 0],
    ]);
  });

  test("messages that both begin with are counted; what came is added", () => {
    const all = [said("user", "a"), said("assistant", "b"), said("user", "c")];
    const messages = part(call(request({ messages: all }), request(), 1), "Messages");
    expect(messages?.lines[0]).toEqual({ kind: "skipped", text: "1 message unchanged" });
    expect(messages?.lines.filter((l) => l.kind === "added").map((l) => l.text)).toEqual([
      "assistant:",
      "b",
      "",
      "user:",
      "c",
    ]);
    const omitted = part(call(request({ messages: all.slice(1), omitted: 1 }), request(), 1), "Messages");
    expect(omitted?.added).toBe(messages?.added);
  });

  test("one of which can't be read aren't compared", () => {
    expect(requestDiff(call(null, request()))).toBeNull();
    expect(requestDiff(call(request(), null))).toBeNull();
    expect(requestDiff({ ...call(request(), request()), previous: null })).toBeNull();
  });
});

describe("lines", () => {
  test("far from a change are folded into one that counts them", () => {
    const many = Array.from({ length: 40 }, (_, i) => `l${i}`);
    const lines = folded(lineDiff(many.join("\n"), [...many, "new"].join("\n")));
    expect(lines.map((l) => l.text)).toEqual(["38 lines unchanged", "l38", "l39", "new"]);
    expect(folded(lineDiff("a\nb\nc\nd", "a\nb\nc\nd"))).toEqual([{ kind: "skipped", text: "4 lines unchanged" }]);
  });

  test("of two long texts that share nothing are all shown, in time", () => {
    const text = (c: string) => Array.from({ length: 20_000 }, (_, i) => `${c}${i}`).join("\n");
    const began = performance.now();
    expect(lineDiff(text("a"), text("b"))).toHaveLength(40_000);
    expect(performance.now() - began).toBeLessThan(5_000);
  });
});
