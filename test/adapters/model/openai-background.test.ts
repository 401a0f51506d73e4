// Answers that OpenAI makes and keeps: named before they are waited for, fetched by whoever comes, paid once.
import { afterAll, describe, expect, test } from "@jest/globals";
import { inOrder } from "../../support/wire/faults.ts";
import { type AskingOptions, asking, closeAll, WATCHED } from "../../support/wire/openai/asking.ts";
import type { Fault } from "../../support/wire/openai/index.ts";

afterAll(closeAll);

const BACKGROUND = { options: { background: true } };

async function keeping(options: AskingOptions = {}) {
  const refs: string[] = [];
  const made = await asking({ model: "gpt-4o", ...options });
  const accepting = { onAccepted: async (ref: string): Promise<void> => void refs.push(ref) };
  return { ...made, refs, accepting };
}

describe("a background answer", () => {
  test("is named before it is waited for, looked at until it is there, and paid once", async () => {
    const { answer, wire, refs, accepting, sent } = await keeping({ looks: 3 });
    const response = await answer(BACKGROUND, accepting);
    expect(response).toMatchObject({ content: [{ type: "text", text: "Hello." }], stopReason: "end" });
    expect(sent().body).toMatchObject({ background: true, store: true, stream: false });
    expect(wire.looks).toEqual(Array.from({ length: 4 }, () => refs[0]));
    expect(wire.ledger.map(({ billed }) => billed?.output)).toEqual([response.usage.output]);
    expect(refs).toHaveLength(1);
  });

  test("is shown while it is made, and fetched where its stream breaks off", async () => {
    const { answer, wire, refs, accepting, deltas } = await keeping({
      script: () => "All of it. ".repeat(20),
      faults: inOrder<Fault>({ fault: "cut", after: 12 }),
    });
    const { content } = await answer(BACKGROUND, { ...accepting, ...WATCHED });
    expect(content).toEqual([{ type: "text", text: "All of it. ".repeat(20) }]);
    expect(deltas.length).toBeGreaterThan(0);
    expect(deltas.some(({ type }) => type === "restart")).toBe(false);
    expect(wire.ledger).toHaveLength(1);
    expect(new Set(wire.looks)).toEqual(new Set(refs));
  });

  test("an id that can't be recorded: what went wrong there passes through", async () => {
    const { ask } = await keeping();
    const lost = new Error("the lease is lost");
    const onAccepted = async (): Promise<void> => {
      throw lost;
    };
    await expect(ask(BACKGROUND, { onAccepted })).rejects.toBe(lost);
  });

  test.each<[string, Fault, string, boolean]>([
    ["a connection that is dropped", { fault: "reset" }, "model.unavailable", true],
    ["500", { status: 500, message: "oops" }, "model.unavailable", true],
    ["429", { status: 429, code: "rate_limit_exceeded", message: "slow down" }, "model.unavailable", true],
    ["a proxy's page", { fault: "html", status: 404 }, "model.unavailable", true],
    ["a login's page", { fault: "html" }, "model.bad_answer", true],
    ["half an answer", { fault: "cut", after: 1 }, "model.unavailable", true],
    ["a key that was taken away", { status: 401, code: "invalid_api_key", message: "no" }, "model.auth", false],
  ])("I5: a look that fails (%s) says that it goes on, and the next one fetches it", async (_, fault, code, again) => {
    const { ask, answer, refs, accepting, wire } = await keeping({ lookFaults: inOrder<Fault>(fault) });
    expect(await ask(BACKGROUND, accepting)).toMatchObject({
      ok: false,
      failure: { error: { code }, retryable: again, goesOn: true },
    });
    expect(wire.looks).toHaveLength(1); // when to look again is the engine's affair
    const { content } = await answer(BACKGROUND, { reattach: refs[0] as string });
    expect(content).toEqual([{ type: "text", text: "Hello." }]);
    expect(wire.ledger).toHaveLength(1);
  });

  test("a provider's wish to be left alone reaches the engine", async () => {
    const fault = { status: 429, message: "slow down", headers: { "retry-after": "30" } };
    const { failure, accepting } = await keeping({ lookFaults: inOrder<Fault>(fault) });
    expect(await failure(BACKGROUND, accepting)).toMatchObject({ retryAfterMs: 30_000, throttled: true, goesOn: true });
  });

  test("stopped while it is waited for: it goes on", async () => {
    const { ask, wire } = await keeping({ looks: 1_000 });
    const stop = new AbortController();
    const onAccepted = async (): Promise<void> => void setTimeout(() => stop.abort(), 50);
    expect(await ask(BACKGROUND, { onAccepted }, stop.signal)).toMatchObject({
      ok: false,
      failure: { error: { message: "The call was stopped." }, goesOn: true },
    });
    expect(wire.ledger).toHaveLength(1);
  });

  test("one that was stopped before it was named may be sent again", async () => {
    const { ask } = await keeping({ faults: inOrder<Fault>({ fault: "reset" }) });
    const answered = await ask(BACKGROUND);
    expect(answered).toMatchObject({ ok: false, failure: { retryable: true } });
    expect(answered).not.toHaveProperty("failure.goesOn");
  });

  test("one that the provider no longer has is asked for anew, after some looks: it may take a moment to be found", async () => {
    const { failure, ask, refs, accepting, wire } = await keeping({ lookFaults: inOrder<Fault>({ status: 500 }) });
    await ask(BACKGROUND, accepting);
    wire.expire();
    const found = await failure(BACKGROUND, { reattach: refs[0] as string });
    expect(found).toMatchObject({ error: { code: "model.unavailable" }, retryable: true });
    expect(found).not.toHaveProperty("goesOn");
    expect(found.error.message).toContain(refs[0]);
    expect(wire.looks.length).toBeGreaterThan(3);
  });

  test("a server that keeps none is no server for it", async () => {
    const { failure, accepting } = await keeping({
      server: true,
      lookFaults: () => ({ status: 404, message: "what?" }),
    });
    expect(await failure({ options: { background: true, api: "responses" } }, accepting)).toMatchObject({
      error: { code: "model.bad_request", message: expect.stringContaining("leave out background") },
      retryable: false,
    });
  });

  test("an answer that failed is over", async () => {
    const { failure, accepting } = await keeping({
      script: () => ({ items: [], status: "failed", error: { code: "server_error", message: "oops" } }),
    });
    const found = await failure(BACKGROUND, accepting);
    expect(found).toMatchObject({ error: { code: "model.unavailable" }, retryable: true });
    expect(found).not.toHaveProperty("goesOn");
  });
});
