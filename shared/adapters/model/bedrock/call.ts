// One question over the wire.
import {
  type BedrockRuntimeClient,
  ConverseCommand,
  ConverseStreamCommand,
  type TokenUsage,
} from "@aws-sdk/client-bedrock-runtime";
import { MODEL_TIMEOUT_MS } from "../../../core/limits.ts";
import type { AskContext, Delta } from "../../../ports/model.ts";
import { createSilence, type Silence } from "../silence.ts";
import { type WireAnswer, wholeAnswer } from "./answer.ts";
import type { Asking, Plan } from "./request.ts";
import { gather } from "./stream.ts";

/** Nothing came for so long. */
export class TooSilent extends Error {
  constructor(ms: number) {
    super(`Bedrock sent nothing for ${ms / 1000} s.`);
    this.name = "TooSilent";
  }
}

export interface Line {
  readonly client: BedrockRuntimeClient;
  readonly signal: AbortSignal;
  /** The longest silence of a stream, before its first event and in it. */
  readonly silenceMs: number;
  /** What Bedrock counts of an answer that is streamed, before it is known whether it is whole. */
  told(usage: TokenUsage | undefined): void;
}

/** Throws TooSilent, else what the SDK throws. A watcher who saw part of an answer that failed is told that it is void. */
export async function call(
  line: Line,
  { input }: Asking,
  plan: Plan,
  onDelta: AskContext["onDelta"],
): Promise<WireAnswer> {
  let heard = false;
  const show = (delta: Delta): void => {
    heard = true;
    onDelta?.(delta);
  };
  try {
    return await askOnce(line, input, plan, show);
  } catch (thrown) {
    if (heard) onDelta?.({ type: "restart" });
    throw thrown;
  }
}

/** An answer that isn't streamed is silent until it is whole. */
async function askOnce(
  { client, signal, silenceMs, told }: Line,
  input: Asking["input"],
  { stream }: Plan,
  show: (delta: Delta) => void,
): Promise<WireAnswer> {
  const ms = stream ? silenceMs : MODEL_TIMEOUT_MS;
  const silence = createSilence(signal, ms);
  try {
    return await (stream ? streamed(client, input, silence, { show, told }) : whole(client, input, silence, show));
  } catch (thrown) {
    throw silence.isOver() ? new TooSilent(ms) : thrown;
  } finally {
    silence.end();
  }
}

async function streamed(
  client: BedrockRuntimeClient,
  input: Asking["input"],
  silence: Silence,
  { show, told }: { readonly show: (delta: Delta) => void; readonly told: Line["told"] },
): Promise<WireAnswer> {
  const { stream } = await client.send(new ConverseStreamCommand(input), { abortSignal: silence.signal });
  return gather(stream ?? nothing(), show, silence.broken, told);
}

async function whole(
  client: BedrockRuntimeClient,
  input: Asking["input"],
  silence: Silence,
  show: (delta: Delta) => void,
): Promise<WireAnswer> {
  const { guardrailConfig, ...rest } = input;
  const { streamProcessingMode: _, ...guardrail } = guardrailConfig ?? {}; // of streams alone
  const command = new ConverseCommand({
    ...rest,
    ...(guardrailConfig === undefined ? {} : { guardrailConfig: guardrail }),
  });
  const answer = wholeAnswer(await client.send(command, { abortSignal: silence.signal }));
  if (answer === null) throw new SyntaxError("it is no message");
  for (const block of answer.blocks)
    if (block.type !== "toolUse" && block.text !== "") show({ type: block.type, text: block.text });
  return answer;
}

async function* nothing(): AsyncGenerator<never> {}
