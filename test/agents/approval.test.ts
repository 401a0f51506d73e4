import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { type Ledger, openLedger, type Refund } from "../../agents/approval/ledger/refunds.ts";

let folder: string;
let ledger: Ledger;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "refunds-"));
  ledger = openLedger(folder);
});
afterEach(() => rm(folder, { recursive: true }));

const refund = (key: string, cents: number): Refund => ({ key, cents, reason: "broken", at: "2026-01-01T00:00:00Z" });

describe("the ledger", () => {
  test("makes a refund once for each key, and says when it was asked again", async () => {
    expect(await ledger.refund("A-1", 1_000, refund("a", 400))).toMatchObject({ type: "refunded", again: false });
    expect(await openLedger(folder).refund("A-1", 1_000, refund("a", 400))).toMatchObject({
      type: "refunded",
      again: true,
    });
    expect(await ledger.refunds("A-1")).toEqual([refund("a", 400)]);
  });

  test("never pays back more than was paid, however many ask at once", async () => {
    const asked = Array.from({ length: 12 }, (_, i) => ledger.refund("A-1", 1_000, refund(`k${i}`, 300)));
    const done = await Promise.all(asked);
    expect(done.filter((d) => d.type === "refunded")).toHaveLength(3);
    expect(done.filter((d) => d.type === "tooMuch").map((d) => d.type === "tooMuch" && d.leftCents)).toEqual(
      Array.from({ length: 9 }, () => 100),
    );
    expect(await readdir(join(folder, "A-1"))).toEqual(["0001.json", "0002.json", "0003.json"]);
  });

  test("the same key asked for at once is one refund", async () => {
    const done = await Promise.all([1, 2, 3, 4].map(() => ledger.refund("A-1", 1_000, refund("same", 300))));
    expect(done.filter((d) => d.type === "refunded" && !d.again)).toHaveLength(1);
    expect(await ledger.refunds("A-1")).toHaveLength(1);
  });
});
