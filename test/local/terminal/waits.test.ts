import { describe, expect, test } from "@jest/globals";
import { styleOf } from "../../../local/terminal/style.ts";
import {
  argumentLines,
  decidedLines,
  transcriptLines,
  waitLines,
  waitsForPerson,
} from "../../../local/terminal/waits.ts";
import type { ApprovalJson, RunJson } from "../../../shared/http/run-json.ts";

const style = styleOf({ write: () => {}, size: () => null, colour: false });
const NOW = Date.parse("2026-01-01T12:00:00Z");
const asked = (call: string, more: Partial<ApprovalJson> = {}): ApprovalJson => ({
  call,
  key: `key of ${call}`,
  taskId: "w0t0",
  tool: "refund",
  args: { order: "A-1", cents: 900 },
  reason: "approval",
  requestedAt: "2026-01-01T11:58:00Z",
  expiresAt: null,
  decided: null,
  ...more,
});
type Waiting = Pick<RunJson, "runId" | "status" | "endedAt" | "approvals" | "cuts" | "signals">;
const run = (more: Partial<Waiting> = {}): Waiting => ({
  runId: "01980f2e-7c1a-4d5b-9e3f-000000000001",
  status: "waitingApproval",
  endedAt: null,
  approvals: [],
  signals: [],
  cuts: [],
  ...more,
});

describe("what a run waits for", () => {
  test("a signal: since when, how long still, and the command", () => {
    const since = "2026-01-01T11:58:00Z";
    const signals = [
      { signal: "paid", since, dueAt: null },
      { signal: "it's off", since, dueAt: "2026-01-01T14:00:00Z" },
    ];
    expect(waitLines(run({ status: "waitingSignal", signals }), style, NOW)).toEqual([
      "  ◌ paid awaited as a signal  for 2 min 0 s",
      "  ◌ it's off awaited as a signal  for 2 min 0 s · 2 h 0 min left",
      "  toren jobs signal 01980f2e paid VALUE",
    ]);
    expect(waitLines(run({ status: "waitingSignal", signals: signals.slice(1) }), style, NOW).at(-1)).toBe(
      "  toren jobs signal 01980f2e 'it'\\''s off' VALUE",
    );
  });

  test("a call: since when, until when, its arguments, and the commands", () => {
    const approvals = [asked("c1", { expiresAt: "2026-01-01T14:00:00Z" })];
    expect(waitLines(run({ approvals }), style, NOW)).toEqual([
      "  ◌ refund waits for approval  asked 2 min ago · denied in 2 h 0 min · w0t0, call c1",
      "      order  A-1",
      "      cents  900",
      "  toren jobs approve 01980f2e   toren jobs deny 01980f2e",
    ]);
  });

  test("commands are shown as the program was called", () => {
    const byNpx = styleOf({ write: () => {}, size: () => null, colour: false, program: "npx toren" });
    const lines = waitLines(run({ approvals: [asked("c1")] }), byNpx, NOW);
    expect(lines.at(-1)).toBe("  npx toren jobs approve 01980f2e   npx toren jobs deny 01980f2e");
  });

  test("a call whose worker died: what allowing and denying it mean", () => {
    const approvals = [asked("c1", { reason: "unknownOutcome" })];
    expect(waitLines(run({ approvals }), style, NOW)).toEqual([
      "  ◌ refund may have taken effect: run it again?  asked 2 min ago · w0t0, call c1",
      "      order  A-1",
      "      cents  900",
      "      It had begun when its worker died. Allowed, it is made again; denied, the model is told that nobody knows.",
      "  toren jobs approve 01980f2e   toren jobs deny 01980f2e",
    ]);
  });

  test("of several calls one has to be named; decided ones aren't waited for", () => {
    const decided = { granted: true, by: "ann", comment: "", at: "2026-01-01T11:59:00Z" };
    const approvals = [asked("c1"), asked("c2"), asked("c3", { decided })];
    const lines = waitLines(run({ approvals }), style, NOW);
    expect(lines.filter((text) => text.includes("waits for approval"))).toHaveLength(2);
    expect(lines.at(-1)).toContain("--call ID");
    expect(decidedLines(run({ approvals }), style, NOW)).toEqual(["  ✔ refund  granted by ann  1 min ago"]);
  });

  const price = { modelCalls: 3, costUsd: 0.0125, simulated: false };
  const cut = { reason: "system changed", calls: ["mail"], price, instead: null, requestedAt: "2026-01-01T11:58:00Z" };
  const cutLines = (more: Partial<RunJson["cuts"][number]>): string =>
    waitLines(run({ status: "waitingCut", cuts: [{ ...cut, stream: "task:w0t0", ...more }] }), style, NOW).join("\n");

  test("a cut of a task: what would be done and paid again, and both ways out", () => {
    expect(cutLines({})).toMatch(
      /w0t0 waits for a decision +system changed\n.*done again: mail\n.*paid again: 3 model calls, \$0\.0125\n.*--rerun.*--keep/,
    );
    const unknown = { modelCalls: 1, costUsd: null, simulated: false };
    expect(cutLines({ price: unknown })).toContain("paid again: 1 model call, cost unknown");
  });

  test("a cut of the workflow: what would answer for what, and what is new all the same", () => {
    const stands = [{ task: "w0t0", was: 'mailer "to Ann"', now: 'mailer "to Ann, politely"' }];
    const instead = { stands, standing: 3, fresh: ["step send"], anew: 1 };
    expect(cutLines({ stream: "run", instead }).split("\n").slice(1)).toEqual([
      "      would be done again: mail",
      "      would be paid again: at most 3 model calls, $0.0125",
      "      kept, what is recorded answers for what it asks now:",
      '        w0t0  mailer "to Ann"  for  mailer "to Ann, politely"',
      "        … and 2 more",
      "      new all the same:",
      "        step send",
      "  toren jobs resume 01980f2e --rerun   toren jobs resume 01980f2e --keep",
    ]);
    const none = cutLines({ stream: "run", instead: { stands: [], standing: 0, fresh: ["step send"], anew: 1 } });
    expect(none).toContain("nothing that is recorded could answer");
    expect(none).not.toContain("--keep");
  });

  test("nobody is wanted by a run that works, or has ended", () => {
    expect(waitLines(run({ status: "running" }), style, NOW)).toEqual([]);
    const ended = run({ status: "failed", endedAt: "2026-01-01T11:59:00Z", approvals: [asked("c1")] });
    expect([waitsForPerson(ended), waitLines(ended, style, NOW)]).toEqual([false, []]);
    expect(waitLines(run({ status: "awaitingInput" }), style, NOW)).toEqual([
      "  toren chat --run 01980f2e   toren jobs send 01980f2e TEXT",
    ]);
  });
});

test("what a model wrote can't move the cursor, hide text or fill the screen", () => {
  const args = { "na\u001b[2Jme": "a\u001b[1A\u202eb\nc", long: "x".repeat(5_000), list: [1, "\u0007"] };
  const lines = argumentLines(args);
  expect(lines).toHaveLength(3);
  for (const text of lines) {
    expect(text).not.toMatch(/\p{Cc}|\u202e/u);
    expect(text.length).toBeLessThan(400);
  }
  const [said] = transcriptLines(
    [{ seq: 1, by: "agent", text: "\u001b[31mred\nand more", at: "2026-01-01T11:58:00Z" }],
    1,
    style,
  );
  expect(said).toBe("  agent   \ufffd[31mred\n          and more");
});

test("of a long conversation the end is shown, and how much there is above", () => {
  const turns = [7, 8].map((seq) => ({ seq, by: "user", text: `t${seq}`, at: "2026-01-01T11:58:00Z" }) as const);
  const lines = transcriptLines(turns, 1_009, style);
  expect(lines).toEqual(["  … 1,007 above (--turns shows more)", "  user    t7", "  user    t8"]);
});
