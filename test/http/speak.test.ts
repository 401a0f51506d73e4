import { describe, expect, test } from "@jest/globals";
import { DECIDED_BY_MAX_CHARS, DECISION_COMMENT_MAX_CHARS, SIGNAL_NAME_MAX_CHARS } from "../../shared/core/limits.ts";
import { fakeApp, KEY_NAME, RUN } from "./fakes.ts";

const OTHER = "01980f2e-7c1a-4d5b-9e3f-000000000002";

/** An app that notes what its use cases were asked. */
function listening() {
  const heard: unknown[] = [];
  const told = async (asked: unknown) => {
    heard.push(asked);
    return { type: "told" } as const;
  };
  const app = fakeApp({
    useCases: {
      decideApproval: told,
      decideCut: told,
      sendMessage: told,
      sendSignal: told,
      resumeRun: async () => told("nudged"),
    },
  });
  return { ...app, heard };
}
const refusing = (
  code: "decision.taken" | "run.ended" | "run.not_a_session" | "run.is_a_session" | "cut.not_waiting",
) => {
  const refused = async () => ({ type: "refused", error: { code, message: "By ann, at noon." } }) as const;
  return fakeApp({
    useCases: { decideApproval: refused, decideCut: refused, sendMessage: refused, sendSignal: refused },
  });
};

describe("a decision about a call", () => {
  test("202; who decides is the key's name, unless somebody is named", async () => {
    const { post, heard } = listening();
    const response = await post(`/runs/${RUN}/approvals`, { granted: true });
    expect([response.status, await response.json()]).toEqual([202, { runId: RUN }]);
    await post(`/runs/${RUN}/approvals`, { granted: false, call: "c1", comment: "no", by: " ann " });
    expect(heard).toEqual([
      { agent: "echo", runId: RUN, granted: true, comment: "", by: KEY_NAME },
      { agent: "echo", runId: RUN, granted: false, call: "c1", comment: "no", by: "ann" },
    ]);
  });

  test.each([
    [{}, "$.granted"],
    [{ granted: "yes" }, "$.granted"],
    [{ granted: true, by: "  " }, "$.by"],
    [{ granted: true, by: "x".repeat(DECIDED_BY_MAX_CHARS + 1) }, "$.by"],
    [{ granted: true, comment: "x".repeat(DECISION_COMMENT_MAX_CHARS + 1) }, "$.comment"],
    [{ granted: true, cal: "c1" }, "$.cal"],
    ["", "$"],
  ])("%j is refused with the place, and decides nothing", async (body, path) => {
    const { post, heard } = listening();
    const response = await post(`/runs/${RUN}/approvals`, body);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ code: "request.invalid", errors: [{ path }] });
    expect(heard).toEqual([]);
  });

  test("who came second is 409, with who was first", async () => {
    const response = await refusing("decision.taken").post(`/runs/${RUN}/approvals`, { granted: true });
    expect(response.status).toBe(409);
    expect(await response.json()).toMatchObject({ code: "decision.taken", detail: "By ann, at noon." });
  });
});

describe("a message", () => {
  test("202, with what was left out as false, and its idempotency key", async () => {
    const { post, heard } = listening();
    expect((await post(`/runs/${RUN}/messages`, { text: "hello" })).status).toBe(202);
    await post(`/runs/${RUN}/messages`, { close: true }, { "idempotency-key": "k1" });
    expect(heard).toEqual([
      { agent: "echo", runId: RUN, text: "hello", close: false, steer: false },
      { agent: "echo", runId: RUN, text: "", close: true, steer: false, idempotencyKey: "k1" },
    ]);
    expect((await post(`/runs/${RUN}/messages`, { text: 7 })).status).toBe(400);
    expect((await post(`/runs/${RUN}/messages`, { text: "x" }, { "idempotency-key": "a b" })).status).toBe(400);
    expect(heard).toHaveLength(2);
  });

  test.each(["run.ended", "run.not_a_session"] as const)("%s is 409", async (code) => {
    const response = await refusing(code).post(`/runs/${RUN}/messages`, { text: "hello" });
    expect([response.status, ((await response.json()) as { code: string }).code]).toEqual([409, code]);
  });
});

describe("a signal", () => {
  test("202, with null for no value, and its idempotency key", async () => {
    const { post, heard } = listening();
    expect((await post(`/runs/${RUN}/signals`, { signal: "go" })).status).toBe(202);
    await post(`/runs/${RUN}/signals`, { signal: "go", value: { a: [1] } }, { "idempotency-key": "k1" });
    expect(heard).toEqual([
      { agent: "echo", runId: RUN, signal: "go", value: null },
      { agent: "echo", runId: RUN, signal: "go", value: { a: [1] }, idempotencyKey: "k1" },
    ]);
  });

  test.each([
    [{}, "$.signal"],
    [{ signal: "" }, "$.signal"],
    [{ signal: "x".repeat(SIGNAL_NAME_MAX_CHARS + 1) }, "$.signal"],
    [{ signal: "go", payload: 1 }, "$.payload"],
  ])("%j is refused with the place, and sends nothing", async (body, path) => {
    const { post, heard } = listening();
    const response = await post(`/runs/${RUN}/signals`, body);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ code: "request.invalid", errors: [{ path }] });
    expect(heard).toEqual([]);
  });

  test.each(["run.ended", "run.is_a_session"] as const)("%s is 409", async (code) => {
    const response = await refusing(code).post(`/runs/${RUN}/signals`, { signal: "go" });
    expect([response.status, ((await response.json()) as { code: string }).code]).toEqual([409, code]);
  });
});

describe("resume", () => {
  test("without a decision it is a nudge, with one it decides about the cut", async () => {
    const { post, ask, heard } = listening();
    expect((await ask(`/runs/${RUN}/resume`, { method: "POST" })).status).toBe(202);
    expect((await post(`/runs/${RUN}/resume`, {})).status).toBe(202);
    expect((await post(`/runs/${RUN}/resume`, { decision: "keep", by: "ann" })).status).toBe(202);
    expect((await post(`/runs/${RUN}/resume`, { decision: "rerun" })).status).toBe(202);
    expect(heard).toEqual([
      "nudged",
      "nudged",
      { agent: "echo", runId: RUN, decision: "keep", by: "ann" },
      { agent: "echo", runId: RUN, decision: "rerun", by: KEY_NAME },
    ]);
    expect((await post(`/runs/${RUN}/resume`, { decision: "maybe" })).status).toBe(400);
  });

  test("a cut that doesn't wait is 409", async () => {
    expect((await refusing("cut.not_waiting").post(`/runs/${RUN}/resume`, { decision: "keep" })).status).toBe(409);
  });
});

test.each(["approvals", "messages", "resume"])("%s of a run that isn't there is 404", async (route) => {
  const { post, heard } = listening();
  for (const id of [OTHER, "nonsense"]) {
    const response = await post(
      `/runs/${id}/${route}`,
      { approvals: { granted: true }, messages: { text: "x" } }[route] ?? {},
    );
    expect([response.status, ((await response.json()) as { code: string }).code]).toEqual([404, "run.unknown"]);
  }
  expect(heard).toEqual([]);
});
