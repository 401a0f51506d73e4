import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { type TestAgent, type Turn, testAgent } from "toren/testing";
import { openLedger } from "../../agents/approval/ledger/refunds.ts";

const refund = (amount: number): Turn => ({
  tools: [{ name: "refund_order", args: { orderId: "A-1002", amount, reason: "one arm is broken" } }],
});

let folder: string;
let desk: TestAgent;
const refunded = async (): Promise<number[]> => (await openLedger(folder).refunds("A-1002")).map(({ cents }) => cents);
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "refunds-"));
  process.env.REFUNDS_FOLDER = folder;
});
afterEach(async () => {
  await desk[Symbol.asyncDispose]();
  delete process.env.REFUNDS_FOLDER;
  await rm(folder, { recursive: true });
});

describe("the desk", () => {
  test("pays back 50 by itself", async () => {
    desk = await testAgent("agents/approval", { models: { main: [refund(50), "Done."] } });
    const run = await desk.start("Please refund 50 of order A-1002");
    expect(await run.until("ended")).toBe("completed");
    expect(await refunded()).toEqual([5_000]);
  });

  test("waits for a person above that, and pays once although its worker dies before and after the decision", async () => {
    desk = await testAgent("agents/approval", { models: { main: [refund(120), "Done."] } });
    const run = await desk.start("Please refund order A-1002");
    expect(await run.until("parked")).toBe("waitingApproval");
    expect(await refunded()).toEqual([]);
    await run.kill();
    await run.approve("ann", "photos seen");
    await run.kill();
    expect(await run.until("ended")).toBe("completed");
    expect(await refunded()).toEqual([12_000]);
  });

  test("pays nothing when nobody decides within a day, and the model is told", async () => {
    desk = await testAgent("agents/approval", { models: { main: ({ n, text }) => (n === 0 ? refund(120) : text) } });
    const run = await desk.start("Please refund order A-1002");
    await run.until("parked");
    await run.advance(24 * 3_600_000);
    expect(await run.until("ended")).toBe("completed");
    expect((await run.result()).output).toContain("nobody decided in time");
    expect(await refunded()).toEqual([]);
  });
});
