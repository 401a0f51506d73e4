// Servers that speak as the providers do, strict about what they take, with the rule-based model behind them, and faults on the way: throttling, an error
// within a stream, a connection that breaks off.
import { brain as claude } from "../support/wire/anthropic/brain.ts";
import { createWireAnthropic } from "../support/wire/anthropic/index.ts";
import { brain as converse } from "../support/wire/bedrock/brain.ts";
import { createWireBedrock } from "../support/wire/bedrock/server.ts";
import { brain as gpt } from "../support/wire/openai/brain.ts";
import { createWireOpenAi, type Fault } from "../support/wire/openai/index.ts";
import type { Env } from "./providers.ts";

export interface ProviderServer {
  /** What leads to it. */
  readonly env: Env;
  /** By its own books: calls that its model was run for. */
  billed(): number;
  /** Why it refused what it was asked: each would be a mistake of ours. */
  refusals(): readonly string[];
  close(): Promise<void>;
}

/** A model takes its time. */
async function late<T>(say: () => T): Promise<Awaited<T>> {
  await new Promise((r) => setTimeout(r, 150 + Math.random() * 250));
  return await say();
}

async function anthropic(): Promise<ProviderServer> {
  const say = claude({ thinks: true });
  const wire = await createWireAnthropic({
    script: (body) => late(() => say(body)),
    faults: (n) =>
      n === 1
        ? { status: 429, type: "rate_limit_error", headers: { "retry-after": "1" } }
        : n === 3
          ? { errorAfter: 3, type: "overloaded_error" }
          : n === 5
            ? { fault: "cut", after: 8 }
            : null,
  });
  return {
    env: { ANTHROPIC_API_KEY: "k", ANTHROPIC_BASE_URL: wire.baseURL },
    billed: () => wire.ledger.filter(({ billed }) => billed !== null).length,
    refusals: () => wire.ledger.flatMap(({ refusal }) => refusal ?? []),
    close: () => wire.close(),
  };
}

async function bedrock(): Promise<ProviderServer> {
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
  return {
    env: {
      AWS_REGION: "us-east-1",
      AWS_ACCESS_KEY_ID: "AKIAEXAMPLE",
      AWS_SECRET_ACCESS_KEY: "secret",
      AWS_ENDPOINT_URL_BEDROCK_RUNTIME: wire.url,
    },
    billed: () => wire.ledger.filter(({ billed }) => billed).length,
    refusals: () => wire.ledger.flatMap(({ refused, status }) => (status === 429 ? [] : (refused ?? []))),
    close: () => wire.close(),
  };
}

/** `keeps`: answers are made in the background. */
const openai = (keeps: boolean) => async (): Promise<ProviderServer> => {
  const faults: Readonly<Record<number, Fault>> = {
    1: { status: 429, code: "rate_limit_exceeded", headers: { "retry-after": "1" } },
    3: { status: 500, message: "oops" },
    5: { fault: "cut", after: 1 },
  };
  const wire = await createWireOpenAi({
    script: (asked) => late(() => gpt(asked)),
    faults: (n) => (keeps && n === 5 ? null : (faults[n] ?? null)), // an answer that nobody was told the name of can't be fetched
    lookFaults: (n) => (n % 5 === 2 ? { status: 503, message: "away" } : null),
    ...(keeps ? { looks: 3 } : {}),
  });
  return {
    env: { OPENAI_API_KEY: "k", OPENAI_BASE_URL: wire.baseURL },
    billed: () => wire.ledger.filter(({ billed }) => billed !== null).length,
    refusals: () => wire.ledger.flatMap(({ refusal }) => refusal ?? []),
    close: () => wire.close(),
  };
};

/** By the names of the ways to them. */
export const SERVERS: Readonly<Record<string, () => Promise<ProviderServer>>> = {
  anthropic,
  openai: openai(false),
  "openai-background": openai(true),
  "openai-chat": openai(false),
  bedrock,
};
