// `npm run test:live` itself, against servers that speak as the providers do, with faults on the way: a worker killed in the middle, and books that balance.
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { testDatabase } from "../support/database.ts";
import { brain as claude } from "../support/wire/anthropic/brain.ts";
import { createWireAnthropic } from "../support/wire/anthropic/index.ts";
import { brain as converse } from "../support/wire/bedrock/brain.ts";
import { createWireBedrock } from "../support/wire/bedrock/server.ts";
import { brain as gpt } from "../support/wire/openai/brain.ts";
import { createWireOpenAi, type Fault } from "../support/wire/openai/index.ts";
import { type Proof, prove } from "./prove.ts";
import { type Env, WAYS, type Way } from "./providers.ts";
import { live } from "./run.ts";

const LIMIT_MS = 60_000;
const wires: { close(): Promise<void> }[] = [];
afterAll(async () => {
  for (const wire of wires) await wire.close();
});

const late = async <T>(say: () => T): Promise<Awaited<T>> => {
  await new Promise((r) => setTimeout(r, 150 + Math.random() * 250));
  return await say();
};

/** What each wire server makes go wrong: throttling, an error within a stream, a connection that breaks off. `billed`: by its own books. */
const SERVERS: Readonly<Record<string, () => Promise<{ env: Env; billed(): number }>>> = {
  anthropic: async () => {
    const say = claude({ thinks: true });
    const wire = await createWireAnthropic({
      script: (body) => late(() => say(body)),
      faults: (n) =>
        n === 1
          ? { status: 429, type: "rate_limit_error", headers: { "retry-after": "1" } }
          : n === 3
            ? { errorAfter: 3, type: "overloaded_error" }
            : n === 5
              ? { cutAfter: 4 }
              : null,
    });
    wires.push(wire);
    return {
      env: { ANTHROPIC_API_KEY: "k", ANTHROPIC_BASE_URL: wire.baseURL },
      billed: () => wire.ledger.filter(({ billed }) => billed !== null).length,
    };
  },
  openai: async () => await openai({}),
  "openai-background": async () => await openai({ looks: 3 }),
  "openai-chat": async () => await openai({}),
  bedrock: async () => {
    const wire = await createWireBedrock({
      script: async (question) => await late(() => converse(question)),
      faults: (n) =>
        n === 1
          ? { fault: "exception", status: 429, name: "ThrottlingException", message: "Too many requests." }
          : n === 3
            ? { fault: "midStream", name: "modelStreamErrorException", message: "It broke.", after: 2 }
            : n === 5
              ? { fault: "cut", after: 2 }
              : null,
    });
    wires.push(wire);
    return {
      env: {
        AWS_REGION: "us-east-1",
        AWS_ACCESS_KEY_ID: "AKIAEXAMPLE",
        AWS_SECRET_ACCESS_KEY: "secret",
        AWS_ENDPOINT_URL_BEDROCK_RUNTIME: wire.url,
      },
      billed: () => wire.ledger.filter(({ billed }) => billed).length,
    };
  },
};

async function openai(more: { looks?: number }) {
  const faults: Readonly<Record<number, Fault>> = {
    1: { status: 429, code: "rate_limit_exceeded", headers: { "retry-after": "1" } },
    3: { status: 500, message: "oops" },
    5: { fault: "cut", after: 1 },
  };
  const wire = await createWireOpenAi({
    script: (asked) => late(() => gpt(asked)),
    faults: (n) => (more.looks === undefined || n !== 5 ? (faults[n] ?? null) : null), // an answer that nobody was told the name of can't be fetched
    lookFaults: (n) => (n % 5 === 2 ? { status: 503, message: "away" } : null),
    ...more,
  });
  wires.push(wire);
  return {
    env: { OPENAI_API_KEY: "k", OPENAI_BASE_URL: wire.baseURL },
    billed: () => wire.ledger.filter(({ billed }) => billed !== null).length,
  };
}

describe("I5: a run whose worker is killed, on a provider that fails now and then, pays for no recorded answer again", () => {
  const proofs = new Map<string, Promise<{ proof: Proof; billed: number }>>();
  const proofOf = async (way: Way): Promise<{ proof: Proof; billed: number }> => {
    const server = await SERVERS[way.name]?.();
    if (server === undefined) throw new Error(`no server for ${way.name}`);
    const db = await testDatabase();
    try {
      return { proof: await prove(way, server.env, db.url, LIMIT_MS), billed: server.billed() };
    } finally {
      await db.drop();
    }
  };
  beforeAll(async () => {
    for (const way of WAYS) proofs.set(way.name, proofOf(way)); // side by side: they wait for leases most of the time
    await Promise.allSettled(proofs.values());
  }, 3 * LIMIT_MS);

  test.each(WAYS.map((way) => [way.name, way] as const))("%s", async (name, { keeps }) => {
    const { proof, billed } = (await proofs.get(name)) as { proof: Proof; billed: number };
    const { modelCalls, unanswered } = proof.receipt;
    expect(modelCalls).toBe(7);
    expect(billed).toBe(proof.billed); // what the gateway saw is what the provider's own books hold
    expect(billed).toBeGreaterThanOrEqual(modelCalls);
    expect(billed).toBeLessThanOrEqual(modelCalls + unanswered);
    if (keeps) expect(billed).toBe(modelCalls);
  });
});

describe("npm run test:live", () => {
  const run = async (names: readonly string[], env: Env) => {
    const lines: string[] = [];
    return { code: await live(names, env, (text) => lines.push(text)), text: lines.join("\n") };
  };

  test("without a key it says what is missing, and that is no failure", async () => {
    const { code, text } = await run([], {});
    expect(code).toBe(0);
    for (const word of ["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "AWS_REGION"]) expect(text).toContain(`set ${word}`);
    expect(text).toContain("Nothing was proved");
  });

  test("a provider that was named and has no key is a failure; so is a name that nobody has", async () => {
    expect(await run(["bedrock"], { AWS_REGION: "us-east-1" })).toMatchObject({
      code: 1,
      text: expect.stringContaining("set AWS_BEARER_TOKEN_BEDROCK, AWS_PROFILE, or AWS_ACCESS_KEY_ID"),
    });
    expect(await run(["mistral"], {})).toMatchObject({
      code: 2,
      text: expect.stringContaining("There are: anthropic"),
    });
  });
});
