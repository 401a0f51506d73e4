// Over 300 lines: one list of what is refused. The tests' own server of Converse refuses what Bedrock does, keeps books, and answers by the rules of
// local/model-server. A server that took anything would prove nothing.
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { Message } from "../../../shared/core/messages.ts";
import { answerMessage, answerText, normalise, resultsMessage, toolUses } from "../../../shared/core/task/history.ts";
import { brain } from "../../support/wire/bedrock/brain.ts";
import {
  CLAUDE,
  LLAMA,
  MODELS,
  NEW_CLAUDE,
  NOVA,
  OPAQUE,
  QWEN,
  user,
  wired,
} from "../../support/wire/bedrock/harness.ts";
import { createWireBedrock, type WireBedrock } from "../../support/wire/bedrock/server.ts";
import { signatureOf } from "../../support/wire/bedrock/signature.ts";

let server: WireBedrock;
beforeAll(async () => {
  server = await createWireBedrock();
});
afterAll(async () => {
  await server.close();
});

const SIGNED = {
  authorization: `AWS4-HMAC-SHA256 Credential=AKIA/20260101/us-east-1/bedrock/aws4_request, SignedHeaders=content-type;host;x-amz-date, Signature=${"0".repeat(64)}`,
  "x-amz-date": "20260101T000000Z",
  "content-type": "application/json",
};
const post = async (model: string, body: unknown, headers: Record<string, string> = SIGNED, operation = "converse") => {
  const url = `${server.url}/model/${encodeURIComponent(model)}/${operation}`;
  const response = await fetch(url, {
    method: "POST",
    headers,
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
  const text = await response.text();
  return { status: response.status, type: response.headers.get("x-amzn-errortype")?.split(":")[0] ?? null, text };
};

const text = (words: string) => ({ text: words });
const say = (...content: object[]) => ({ role: "user", content });
const said = (...content: object[]) => ({ role: "assistant", content });
const use = (toolUseId: string, name = "look") => ({ toolUse: { toolUseId, name, input: {} } });
const got = (toolUseId: string, ...content: object[]) => ({
  toolResult: { toolUseId, content: content.length > 0 ? content : [text("ok")] },
});
const MARK = { cachePoint: { type: "default" } };
const TOOLS = { tools: [{ toolSpec: { name: "look", inputSchema: { json: { type: "object" } } } }] };
const HI = { messages: [say(text("Hi."))] };
const CALLED = { messages: [say(text("Hi.")), said(use("c1")), say(got("c1"))], toolConfig: TOOLS };
const image = { image: { format: "png", source: { bytes: "AAAA" } } };
const document = (name: string) => ({ document: { format: "pdf", name, source: { bytes: "AAAA" } } });
const reasoned = (model: string, words: string, prefix = "") => ({
  reasoningContent: { reasoningText: { text: words, signature: signatureOf(model, words, prefix) } },
});

test.each([
  [CLAUDE, HI],
  [CLAUDE, CALLED],
  [NOVA, CALLED],
  [LLAMA, CALLED],
  [CLAUDE, { messages: [say(text("Hi.")), said(reasoned(CLAUDE, "hm"), text("Yes.")), say(text("So?"))] }],
  [CLAUDE, { messages: [say(image, document("a"), text("Look."))] }],
])("%s takes %j", async (model, body) => {
  expect((await post(model, body)).status).toBe(200);
});

test.each<[string, string, object]>([
  ["an unknown member", CLAUDE, { ...HI, extra: 1 }],
  ["no message", CLAUDE, { messages: [] }],
  ["an empty message", CLAUDE, { messages: [say()] }],
  ["a blank text", CLAUDE, { messages: [say(text(" \n"))] }],
  ["a lone surrogate", CLAUDE, { messages: [say(text("\ud800"))] }],
  [
    "a lone surrogate in arguments",
    CLAUDE,
    {
      ...CALLED,
      messages: [
        say(text("Hi.")),
        said({ toolUse: { toolUseId: "c1", name: "look", input: { a: "\ud800" } } }),
        say(got("c1")),
      ],
    },
  ],
  ["the model's turn first", CLAUDE, { messages: [said(text("Hi.")), say(text("Ho."))] }],
  ["the model's turn last", CLAUDE, { messages: [say(text("Hi.")), said(text("Ho."))] }],
  ["two turns of one role", CLAUDE, { messages: [say(text("Hi.")), say(text("Ho."))] }],
  ["an illegal id", CLAUDE, { ...CALLED, messages: [say(text("Hi.")), said(use("c 1")), say(got("c 1"))] }],
  ["an illegal name", CLAUDE, { ...CALLED, messages: [say(text("Hi.")), said(use("c1", "ls -la")), say(got("c1"))] }],
  ["one id twice", CLAUDE, { ...CALLED, messages: [say(text("Hi.")), said(use("c1"), use("c1")), say(got("c1"))] }],
  ["a call without a result", CLAUDE, { ...CALLED, messages: [say(text("Hi.")), said(use("c1")), say(text("Well?"))] }],
  ["a result without a call", CLAUDE, { ...CALLED, messages: [say(text("Hi."), got("c1"))] }],
  [
    "words before results",
    CLAUDE,
    { ...CALLED, messages: [say(text("Hi.")), said(use("c1")), say(text("So?"), got("c1"))] },
  ],
  ["c8: tool blocks without a tool configuration", CLAUDE, { messages: CALLED.messages }],
  ["an empty tool configuration", CLAUDE, { ...CALLED, toolConfig: { tools: [] } }],
  [
    "an empty description",
    CLAUDE,
    {
      ...HI,
      toolConfig: { tools: [{ toolSpec: { name: "x", description: "", inputSchema: { json: { type: "object" } } } }] },
    },
  ],
  [
    "a schema that is no object's",
    CLAUDE,
    { ...HI, toolConfig: { tools: [{ toolSpec: { name: "x", inputSchema: { json: { type: "string" } } } }] } },
  ],
  [
    "five marks",
    CLAUDE,
    {
      messages: [
        say(text("1"), MARK, text("2"), MARK, text("3"), MARK),
        said(text("4")),
        say(text("5"), MARK, text("6"), MARK),
      ],
    },
  ],
  ["a mark where there is no cache", QWEN, { messages: [say(text("Hi."), MARK)] }],
  ["a mark at Nova's tools", NOVA, { ...HI, toolConfig: { tools: [...TOOLS.tools, MARK] } }],
  [
    "a mark after reasoning",
    CLAUDE,
    { messages: [say(text("Hi.")), said(reasoned(CLAUDE, "hm"), MARK, text("Yes.")), say(text("So?"))] },
  ],
  [
    "reasoning that was changed",
    CLAUDE,
    {
      messages: [
        say(text("Hi.")),
        said(
          {
            reasoningContent: {
              reasoningText: { ...reasoned(CLAUDE, "hm").reasoningContent.reasoningText, text: "ha" },
            },
          },
          text("Yes."),
        ),
        say(text("So?")),
      ],
    },
  ],
  [
    "another model's reasoning",
    CLAUDE,
    { messages: [say(text("Hi.")), said(reasoned(NOVA, "hm"), text("Yes.")), say(text("So?"))] },
  ],
  [
    "reasoning after something else",
    NEW_CLAUDE,
    { messages: [say(text("Hi.")), said(reasoned(NEW_CLAUDE, "hm", "other"), text("Yes.")), say(text("So?"))] },
  ],
  [
    "reasoning to Nova",
    NOVA,
    { messages: [say(text("Hi.")), said(reasoned(NOVA, "hm"), text("Yes.")), say(text("So?"))] },
  ],
  [
    "reasoning at the end of a turn",
    CLAUDE,
    { messages: [say(text("Hi.")), said(reasoned(CLAUDE, "hm")), say(text("So?"))] },
  ],
  [
    "thinking without thoughts before calls",
    CLAUDE,
    { ...CALLED, additionalModelRequestFields: { thinking: { type: "enabled", budget_tokens: 1_024 } } },
  ],
  [
    "words beside results, at Llama",
    LLAMA,
    { ...CALLED, messages: [say(text("Hi.")), said(use("c1")), say(got("c1"), text("So?"))] },
  ],
  [
    "more than type, properties and required at Nova",
    NOVA,
    {
      ...HI,
      toolConfig: { tools: [{ toolSpec: { name: "x", inputSchema: { json: { type: "object", $defs: {} } } } }] },
    },
  ],
  [
    "a property's name at Claude",
    CLAUDE,
    {
      ...HI,
      toolConfig: {
        tools: [{ toolSpec: { name: "x", inputSchema: { json: { type: "object", properties: { "a b": {} } } } } }],
      },
    },
  ],
  [
    "alternatives at Claude's root",
    CLAUDE,
    {
      ...HI,
      toolConfig: { tools: [{ toolSpec: { name: "x", inputSchema: { json: { type: "object", anyOf: [] } } } }] },
    },
  ],
  ["an image for the blind", QWEN, { messages: [say(image, text("Look."))] }],
  ["a document alone", CLAUDE, { messages: [say(document("a"))] }],
  ["a document's name", CLAUDE, { messages: [say(document("a.pdf"), text("Look."))] }],
  ["two of one name", CLAUDE, { messages: [say(document("a"), document("A"), text("Look."))] }],
  ["six documents", CLAUDE, { messages: [say(...["a", "b", "c", "d", "e", "f"].map(document), text("Look."))] }],
  [
    "a document in a result, at Claude",
    CLAUDE,
    { ...CALLED, messages: [say(text("Hi.")), said(use("c1")), say(got("c1", text("ok"), document("a")))] },
  ],
  ["temperature and topP", CLAUDE, { ...HI, inferenceConfig: { temperature: 0.1, topP: 0.1 } }],
])("refused: %s", async (_, model, body) => {
  const { status, type } = await post(model, body);
  expect({ status, type }).toEqual({ status: 400, type: "ValidationException" });
  expect(server.ledger.at(-1)).toMatchObject({ billed: false, status: 400 });
});

describe("signatures", () => {
  test.each<[string, Record<string, string>]>([
    ["none", {}],
    ["another service's", { ...SIGNED, authorization: SIGNED.authorization.replace("bedrock", "s3") }],
    ["without the date", { ...SIGNED, authorization: SIGNED.authorization.replace(";x-amz-date", "") }],
  ])("%s: refused", async (_, headers) => {
    expect((await post(CLAUDE, HI, headers)).status).toBe(403);
  });
});

test("tool use in a stream, where it isn't supported", async () => {
  const { status, text: words } = await post(LLAMA, CALLED, SIGNED, "converse-stream");
  expect(status).toBe(400);
  expect(words).toContain("doesn't support tool use in streaming mode");
});

describe("the rules of local/model-server behind it", () => {
  const tools = [
    { name: "list_files", description: "Lists files.", inputSchema: { type: "object", properties: {} } },
    {
      name: "search",
      description: "Searches.",
      inputSchema: { type: "object", properties: { query: { type: "string" } }, required: ["query"] },
    },
  ];

  test.each([...MODELS])("%s works through its tools to an answer, and the books are balanced", async (model) => {
    const { answered, server: own } = await wired(model, { script: brain, profiles: { [OPAQUE]: CLAUDE } });
    try {
      const messages: Message[] = [user("How are base backups taken?")];
      const used = new Set<string>();
      let final = "";
      let spent = 0;
      for (let step = 0; step < 6 && final === ""; step++) {
        const response = normalise(await answered({ tools, messages: [...messages], maxTokens: 4_096 }), used);
        spent += response.usage.output;
        messages.push(answerMessage(response.content));
        const calls = toolUses(response.content);
        for (const { id } of calls) used.add(id);
        if (calls.length === 0) final = answerText(response.content);
        else
          messages.push(
            resultsMessage(
              calls.map(({ id, name }) => ({ toolUseId: id, result: `${name} found nothing`, isError: false })),
            ),
          );
      }
      expect(final).not.toBe("");
      expect(used.size).toBeGreaterThan(0);
      const billed = own.ledger.filter((entry) => entry.billed && entry.answered);
      expect(billed).toHaveLength(own.ledger.length);
      expect(billed.reduce((sum, { usage }) => sum + (usage?.outputTokens ?? 0), 0)).toBe(spent);
    } finally {
      await own.close();
    }
  });

  test("a schema is filled, whether Bedrock is held to it or the system prompt says it", async () => {
    const schema = {
      type: "object",
      properties: { topics: { type: "array", items: { type: "string" } } },
      required: ["topics"],
      additionalProperties: false,
    };
    for (const model of [CLAUDE, NOVA]) {
      const { answered, server: own } = await wired(model, { script: brain });
      const system = `Plan.\n\nYour final answer must be one JSON value and nothing else: no prose, no code fence. It must be valid under this JSON Schema:\n${JSON.stringify(schema)}`;
      const { content } = await answered({
        system,
        outputSchema: schema,
        maxTokens: 4_096,
        messages: [user("Research backups and replication.")],
      });
      expect(JSON.parse(answerText(content))).toMatchObject({ topics: expect.any(Array) });
      await own.close();
    }
  });
});
