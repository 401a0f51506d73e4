// What stands behind the API Gateway: the console, and the function that streams a run's log, in AWS' own runtime client. The emulator's gateway streams nothing,
// so that function is invoked as the gateway does.
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { createClient } from "../../../shared/client/index.ts";
import { EVENTS_LAST_MS } from "../../../shared/core/limits.ts";
import type { PageEvent } from "../../../shared/http/events-page.ts";
import type { ExecutionEnvironment, Streamed } from "../support/environment.ts";
import { environmentBeside } from "../support/environments.ts";
import { DEPLOY_MS, type Installation, openInstallation } from "../support/installation.ts";
import { proxyEvent } from "../support/proxy-event.ts";

/** What Lambda takes of a request, with its body in base64. */
const LAMBDA_PAYLOAD_BYTES = 6 * 1024 * 1024;

let at: Installation;
let events: ExecutionEnvironment;
beforeAll(async () => {
  at = await openInstallation();
  events = await environmentBeside(at.deployed, "events");
}, DEPLOY_MS);
afterAll(async () => {
  await events?.end();
  await at?.close();
});

describe("the console, under the stage", () => {
  test("is a page with all that it asks for, and a stage without its slash leads there", async () => {
    // Its gateway leaves what functions encode (gzip, for API Gateway to decode) as it is.
    const headers = { "accept-encoding": "identity" };
    const page = await fetch(at.deployed.apiUrl, { headers });
    expect([page.status, page.headers.get("content-type")]).toEqual([200, expect.stringContaining("text/html")]);
    expect(page.headers.get("content-security-policy")).toContain("default-src");
    const html = await page.text();
    const files = [...html.matchAll(/(?:src|href)="(?!data:|https?:|#)([^"]+)"/g)].map(([, file = ""]) => file);
    expect(files.length).toBeGreaterThan(1);
    for (const file of files) {
      const answer = await fetch(new URL(file, at.deployed.apiUrl), { headers });
      const bytes = (await answer.arrayBuffer()).byteLength;
      expect([file, answer.status, bytes > 0]).toEqual([file, 200, true]);
    }
    const slashless = await fetch(at.deployed.apiUrl.slice(0, -1), { redirect: "manual" });
    // The emulator's gateway takes both for the same path.
    expect([200, 308]).toContain(slashless.status);
  }, 60_000);

  test("what isn't there is a problem document", async () => {
    const answer = await at.request("GET", "nothing/of/this");
    expect([answer.status, answer.headers.get("content-type")]).toEqual([404, "application/problem+json"]);
  });
});

test("a file that no request could carry goes to S3 by an address of its own, and is a file like any other", async () => {
  const client = createClient({ url: at.deployed.apiUrl, key: at.key });
  const text = "A line of a long book.\n".repeat(330_000);
  const content = new TextEncoder().encode(text);
  expect(content.byteLength).toBeGreaterThan(LAMBDA_PAYLOAD_BYTES);
  const info = await client.addFile("book.txt", "text/plain", content);
  expect(info).toMatchObject({ name: "book.txt", mediaType: "text/plain", bytes: content.byteLength });
  const [row] = await at.sql<{ object_key: string | null }>(
    "SELECT object_key FROM toren_control.files WHERE id = $1",
    [info.id],
  );
  expect(row?.object_key).toBe(`files/${info.id}`);
  await client.removeFile(info.id);
}, 90_000);

test("metrics have the queues' depths by SQS, and no appends of a function that appends nothing", async () => {
  const answer = await at.request("GET", "metrics", undefined, { "accept-encoding": "identity" });
  expect(answer.status).toBe(200);
  const text = await answer.text();
  expect(text).toMatch(/^toren_queue_messages\{queue="ticks",state="waiting"\} \d+$/m);
  expect(text).not.toContain("toren_append_seconds");
});

async function follow(runId: string, headers: Record<string, string> = {}, to = events): Promise<Streamed> {
  return await to.stream(
    proxyEvent({
      method: "GET",
      path: `/runs/${runId}/events`,
      headers: { authorization: `Bearer ${at.key}`, accept: "text/event-stream", ...headers },
    }),
  );
}

/** An environment takes its next invocation when the answer was read to its end. */
async function textOf({ body }: Streamed): Promise<string> {
  let text = "";
  for await (const chunk of body) text += chunk;
  return text;
}

const refusal = async (answer: Streamed): Promise<object> => {
  expect(answer.headers["content-type"]).toBe("application/problem+json");
  const problem = JSON.parse(await textOf(answer)) as { status: number };
  expect(problem.status).toBe(answer.statusCode);
  return problem;
};

interface Message {
  readonly id: string | null;
  readonly event: string;
  readonly data: string;
}

/** Of server-sent events, comments left out. */
async function* messages({ body }: Streamed): AsyncGenerator<Message> {
  let text = "";
  for await (const chunk of body) {
    text += chunk;
    const parts = text.split("\n\n");
    text = parts.pop() ?? "";
    for (const part of parts) {
      const field = (name: string): string | null => new RegExp(`^${name}: (.*)$`, "m").exec(part)?.[1] ?? null;
      const data = field("data");
      if (data !== null) yield { id: field("id"), event: field("event") ?? "message", data };
    }
  }
  expect(text).toBe("");
}

async function collected(answer: Streamed): Promise<Message[]> {
  const all: Message[] = [];
  for await (const message of messages(answer)) all.push(message);
  return all;
}

/** None for what models say while they say it, and for the end. */
const recorded = ({ event, data }: Message): PageEvent[] =>
  event === "delta" || event === "end" ? [] : [JSON.parse(data) as PageEvent];

describe("the log of a run, streamed", () => {
  test("comes while the run is at work, ends with it, and is what pages say", async () => {
    await at.model(1_500, 1_500);
    const runId = await at.start("probe", "How long is a lease?", "main");
    const answer = await follow(runId);
    expect(answer.statusCode).toBe(200);
    expect(answer.headers["content-type"]).toContain("text/event-stream");
    const seen: Message[] = [];
    let statusAtFirst: string | null = null;
    for await (const message of messages(answer)) {
      seen.push(message);
      statusAtFirst ??= ((await (await at.request("GET", `runs/${runId}`)).json()) as { status: string }).status;
    }
    expect(statusAtFirst).not.toBe("completed");
    expect(seen.at(-1)).toMatchObject({ event: "end" });
    const page = (await (await at.request("GET", `runs/${runId}/events?wait=0`)).json()) as { events: PageEvent[] };
    expect(seen.flatMap(recorded)).toEqual(page.events);
  }, 60_000);

  test("ends before the function's time does; who asks again goes on where it was, without a gap", async () => {
    const short = await environmentBeside(at.deployed, "events", { timeoutMs: EVENTS_LAST_MS + 3_000 });
    try {
      const runId = await at.start("probe", 6_000, "nap");
      const first = await collected(await follow(runId, {}, short));
      expect(first.some(({ event }) => event === "end")).toBe(false);
      const last = first.findLast(({ id }) => id !== null)?.id ?? "";
      const second = await collected(await follow(runId, { "last-event-id": last }));
      expect(second.at(-1)).toMatchObject({ event: "end" });
      const page = (await (await at.request("GET", `runs/${runId}/events?wait=0`)).json()) as { events: PageEvent[] };
      expect([...first, ...second].flatMap(recorded)).toEqual(page.events);
    } finally {
      await short.end();
    }
  }, 60_000);

  test("pages come from the same function; a stranger, and an unknown run, hear of it", async () => {
    const runId = await at.start("probe", "How long is a lease?", "main");
    await at.ended(runId, 60_000);
    const page = await follow(runId, { accept: "application/json" });
    expect([page.statusCode, JSON.parse(await textOf(page))]).toEqual([200, expect.objectContaining({ ended: true })]);
    expect(await refusal(await follow(runId, { authorization: "Bearer nothing" }))).toMatchObject({ status: 401 });
    expect(await refusal(await follow(crypto.randomUUID()))).toMatchObject({ status: 404 });
  }, 60_000);

  test("is refused with a time to come again while the database is away", async () => {
    const away = await environmentBeside(at.deployed, "events", {
      more: { DATABASE_URL: "postgres://toren@127.0.0.1:1/toren" },
    });
    try {
      const answer = await follow(crypto.randomUUID(), {}, away);
      expect(answer).toMatchObject({ statusCode: 503, headers: { "retry-after": expect.any(String) } });
      expect(await refusal(answer)).toMatchObject({ code: "database.unavailable" });
    } finally {
      await away.end();
    }
  }, 60_000);
});
