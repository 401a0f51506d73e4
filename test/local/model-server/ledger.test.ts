import { appendFileSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { openLedger } from "../../../local/model-server/ledger.ts";

const now = () => new Date(0);
const AT = "1970-01-01T00:00:00.000Z";
const asked = { requestDigest: "d", model: "m" };
const usage = {
  prompt_tokens: 3,
  completion_tokens: 1,
  total_tokens: 4,
  prompt_tokens_details: { cached_tokens: 0 },
} as const;

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "ledger-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

describe("the ledger", () => {
  test("counts a request when it arrives, answered or not", () => {
    const ledger = openLedger(now);
    expect(ledger.arrive(asked)).toBe(1);
    expect(ledger.arrive(asked)).toBe(2);
    ledger.decide(1, 200, usage);
    ledger.finish(1, true);
    const open = { arrivedAt: AT, finishedAt: null, answered: false, status: null, usage: null };
    expect(ledger.entries()).toEqual([
      { n: 1, ...asked, arrivedAt: AT, finishedAt: AT, answered: true, status: 200, usage },
      { n: 2, ...asked, ...open },
    ]);
  });

  test("how a request finished is decided once", () => {
    const ledger = openLedger(now);
    ledger.arrive(asked);
    ledger.finish(1, true);
    ledger.finish(1, false);
    expect(ledger.entries()[0]?.answered).toBe(true);
  });

  test("survives a restart, and a last line torn by a kill", () => {
    const file = join(folder, "new", "ledger.jsonl");
    const before = openLedger(now, file);
    before.arrive(asked);
    before.decide(1, 200, usage);
    before.finish(1, true);
    before.arrive(asked);
    appendFileSync(file, '{"event":"finished","n":2,"answ');

    const after = openLedger(now, file);
    expect(after.entries()).toEqual(before.entries());
    expect(after.arrive(asked)).toBe(3);
    expect(openLedger(now, file).entries()).toHaveLength(3);
    expect(readFileSync(file, "utf8").trim().split("\n")).toHaveLength(6);
  });
});
