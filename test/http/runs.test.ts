import { describe, expect, test } from "@jest/globals";
import { REQUEST_BODY_BYTES, TURNS_PAGE, TURNS_PAGE_MAX } from "../../shared/core/limits.ts";
import { fakeApp, problem, RUN } from "./fakes.ts";

describe("starting a run", () => {
  test("201 with a relative link, so that a stage path stays in it", async () => {
    const { post } = fakeApp({}, "/prod");
    const response = await post("/prod/runs", { agent: "echo", input: "hello" });
    expect(response.status).toBe(201);
    expect(await response.json()).toEqual({ runId: RUN, agent: "echo" });
    const link = response.headers.get("location") ?? "";
    expect(new URL(link, "https://api.example/prod/runs").pathname).toBe(`/prod/runs/${RUN}`);
  });

  test("the input arrives in the form that is recorded; what has none is refused with its place", async () => {
    const inputs: unknown[] = [];
    const { post } = fakeApp({
      useCases: {
        startRun: async ({ input }) => {
          inputs.push(JSON.stringify(input), Object.is(input, -0));
          return { type: "started", runId: RUN };
        },
      },
    });
    const raw = (input: string) => `{"agent":"echo","input":${input}}`;
    expect((await post("/runs", raw('{"b":1,"a":-0}'))).status).toBe(201);
    expect((await post("/runs", raw("-0"))).status).toBe(201);
    expect(inputs).toEqual(['{"a":0,"b":1}', false, "0", false]);
    const deep = await post("/runs", raw(`{"rows":${"[".repeat(2_000)}${"]".repeat(2_000)}}`));
    expect(deep.status).toBe(400);
    const { code, errors } = await problem(deep);
    expect([code, errors?.[0]?.path.slice(0, 20)]).toEqual(["request.invalid", "$.input.rows[0][0][0"]);
    expect((await post("/runs", raw(`${"[".repeat(400_000)}${"]".repeat(400_000)}`))).status).toBe(400);
  });

  test("labels come through, within their bounds", async () => {
    const seen: unknown[] = [];
    const { post } = fakeApp({
      useCases: {
        startRun: async ({ attributes }) => {
          seen.push(attributes);
          return { type: "started", runId: RUN };
        },
      },
    });
    const start = async (attributes: unknown) => (await post("/runs", { agent: "echo", input: 1, attributes })).status;
    expect(await start({ customer: "<b>O'Hara</b>" })).toBe(201);
    expect(await start(undefined)).toBe(201);
    expect(seen).toEqual([{ customer: "<b>O'Hara</b>" }, {}]);
    const many = Object.fromEntries(Array.from({ length: 21 }, (_, i) => [`k${i}`, "v"]));
    for (const wrong of [
      { "": "x" },
      { "1": "x" },
      { a: 1 },
      { a: "" },
      { a: "\n" },
      { a: "\ud800" },
      { a: "x".repeat(201) },
      many,
      [],
    ])
      expect([wrong, await start(wrong)]).toEqual([wrong, 400]);
  });

  test("the same idempotency key: 200 with the run of then", async () => {
    const keys: unknown[] = [];
    const { post } = fakeApp({
      useCases: {
        startRun: async ({ idempotencyKey }) => {
          keys.push(idempotencyKey);
          return { type: "existing", runId: RUN };
        },
      },
    });
    expect((await post("/runs", { agent: "echo", input: 1 }, { "idempotency-key": "k1" })).status).toBe(200);
    expect((await post("/runs", { agent: "echo", input: 1 })).status).toBe(200);
    expect(keys).toEqual(["k1", undefined]);
  });

  test("an idempotency key that no proxy would keep is refused", async () => {
    const response = await fakeApp().post("/runs", { agent: "echo", input: 1 }, { "idempotency-key": "two words" });
    expect((await problem(response)).errors).toEqual([expect.objectContaining({ path: "Idempotency-Key" })]);
  });

  test.each([
    ["agent.unknown", 404],
    ["process.unknown", 422],
    ["file.unknown", 422],
    ["workflow.bad_input", 422],
    ["payload.too_large", 413],
    ["idempotency.conflict", 409],
  ] as const)("what the engine refuses with %s is %d", async (code, status) => {
    const { post } = fakeApp({
      useCases: { startRun: async () => ({ type: "refused", error: { code, message: "No. Do this." } }) },
    });
    const response = await post("/runs", { agent: "echo", input: 1 });
    expect(response.status).toBe(status);
    expect(await problem(response)).toMatchObject({ code, detail: "No. Do this." });
  });

  test.each([
    ["", "$", "empty"],
    ['{"agent": "echo",\n  "input" 1}', "$", "line 2, column 11"],
    ['{"agent":"echo"}', "$.input", "input"],
    ['{"agent":"echo","input":1,"files":["a",2]}', "$.files[1]", "files"],
    ['{"agent":"echo","input":1,"proces":"main"}', "$.proces", "proces"],
    ['{"agent":7,"input":1}', "$.agent", "agent"],
    ["[]", "$", "object"],
  ])("%j is refused with the place", async (body, path, says) => {
    const refused = await problem(await fakeApp().post("/runs", body));
    expect(refused).toMatchObject({ status: 400, code: "request.invalid" });
    expect(refused.errors?.[0]?.path).toBe(path);
    expect(refused.detail).toContain(says);
  });

  test("bytes that aren't UTF-8 are refused, not mended", async () => {
    const body = Buffer.concat([Buffer.from('{"agent":"echo","input":"'), Buffer.from([0xff]), Buffer.from('"}')]);
    const response = await fakeApp().ask("/runs", { method: "POST", body });
    expect((await problem(response)).detail).toContain("UTF-8");
  });

  test("every JSON value is an input: null, false and text with U+0000 and a lone surrogate come through as they are", async () => {
    const seen: unknown[] = [];
    const { post } = fakeApp({
      useCases: {
        startRun: async ({ input }) => {
          seen.push(input);
          return { type: "started", runId: RUN };
        },
      },
    });
    const inputs = [null, false, 0, "", "a\u0000b\\u0000", "\ud800", { a: [1.5, "é"] }];
    for (const input of inputs) expect((await post("/runs", { agent: "echo", input })).status).toBe(201);
    expect(seen).toEqual(inputs);
  });

  test("a body over the limit is 413, with and without Content-Length, and isn't read to its end", async () => {
    const { ask } = fakeApp();
    expect((await ask("/runs", { method: "POST", body: "x".repeat(REQUEST_BODY_BYTES + 1) })).status).toBe(413);
    let sent = 0;
    const endless = new ReadableStream<Uint8Array>({
      pull(controller) {
        sent += 64 * 1024;
        controller.enqueue(new Uint8Array(64 * 1024).fill(0x20));
      },
    });
    const response = await ask("/runs", { method: "POST", body: endless, duplex: "half" });
    expect((await problem(response)).code).toBe("request.too_large");
    expect(sent).toBeLessThan(2 * REQUEST_BODY_BYTES);
  });
});

describe("the turns of a session", () => {
  test("are asked for before a place, so many; the last ones by default", async () => {
    const asked: unknown[] = [];
    const page = { turns: [{ seq: 4, by: "agent" as const, text: "hello", at: 0 }], next: 4, count: 9 };
    const { ask } = fakeApp({
      useCases: {
        readTurns: async (request) => {
          asked.push(request);
          return { type: "turns", page };
        },
      },
    });
    const response = await ask(`/runs/${RUN}/turns?before=7&limit=1`);
    expect([response.status, await response.json()]).toEqual([
      200,
      { turns: [{ seq: 4, by: "agent", text: "hello", at: "1970-01-01T00:00:00.000Z" }], next: 4 },
    ]);
    await ask(`/runs/${RUN}/turns`);
    expect(asked).toEqual([
      { agent: "echo", runId: RUN, before: 7, limit: 1 },
      { agent: "echo", runId: RUN, before: null, limit: TURNS_PAGE },
    ]);
  });

  test.each(["before=x", "before=-1", "limit=0", `limit=${TURNS_PAGE_MAX + 1}`, "after=3"])(
    "%s is refused",
    async (query) => {
      const response = await fakeApp().ask(`/runs/${RUN}/turns?${query}`);
      expect([response.status, await response.json()]).toMatchObject([400, { code: "request.invalid" }]);
    },
  );

  test("of a run that is no session there are none: 409", async () => {
    const error = { code: "run.not_a_session", message: "It is none." } as const;
    const { ask } = fakeApp({ useCases: { readTurns: async () => ({ type: "refused", error }) } });
    expect((await ask(`/runs/${RUN}/turns`)).status).toBe(409);
  });
});

test("a key __proto__ is refused and not passed over; in an input it is a name like others", async () => {
  const inputs: unknown[] = [];
  const { post, ask } = fakeApp({
    useCases: {
      startRun: async ({ input }) => {
        inputs.push(input);
        return { type: "started", runId: RUN };
      },
    },
  });
  const attributes = await problem(await post("/runs", '{"agent":"echo","input":1,"attributes":{"__proto__":"x"}}'));
  expect(attributes).toMatchObject({ code: "request.invalid", errors: [{ path: "$.attributes.__proto__" }] });
  for (const body of [
    '{"agent":"echo","input":1,"__proto__":{}}',
    '{"agent":"echo","input":1,"limits":{"__proto__":{}}}',
  ])
    expect((await problem(await post("/runs", body))).code).toBe("request.invalid");
  expect((await ask("/runs?attributes.__proto__=x")).status).toBe(400);
  expect(inputs).toEqual([]);
  expect((await post("/runs", '{"agent":"echo","input":{"__proto__":{"a":1},"b":2}}')).status).toBe(201);
  expect(JSON.stringify(inputs)).toBe('[{"__proto__":{"a":1},"b":2}]');
});
