// One question over the wire, as often as Bedrock says that it is asked in a way that the model doesn't take.
import { type BedrockRuntimeClient, ConverseCommand, ConverseStreamCommand } from "@aws-sdk/client-bedrock-runtime";
import { MODEL_PARTS_LEFT_OUT_MAX } from "../../../core/limits.ts";
import type { AskContext, Delta } from "../../../ports/model.ts";
import { type WireAnswer, wholeAnswer } from "./answer.ts";
import { concede } from "./concessions.ts";
import { isRefusal } from "./failures.ts";
import { type Asking, converseInput, type Plan, type Question } from "./request.ts";
import { gather } from "./stream.ts";

export interface Answered {
  readonly answer: WireAnswer;
  readonly prefix: string;
  /** How it was asked in the end. */
  readonly plan: Plan;
}

/** Throws what the SDK throws. A watcher who saw part of an answer that failed is told that it is void. */
export async function call(
  client: BedrockRuntimeClient,
  question: Question,
  first: Plan,
  signal: AbortSignal,
  onDelta: AskContext["onDelta"],
): Promise<Answered> {
  let heard = false;
  const show = (delta: Delta): void => {
    heard = true;
    onDelta?.(delta);
  };
  let plan = first;
  for (let left = MODEL_PARTS_LEFT_OUT_MAX; ; left--) {
    const asking = converseInput(question, plan);
    try {
      const ask = plan.stream ? streamed : whole;
      return { answer: await ask(client, asking.input, signal, show), prefix: asking.prefix, plan };
    } catch (thrown) {
      if (heard) onDelta?.({ type: "restart" });
      heard = false;
      const next = left > 0 && isRefusal(thrown) ? concede(plan, thrown.message, asking, left === 1) : null;
      if (next === null) throw thrown;
      plan = next;
    }
  }
}

async function streamed(
  client: BedrockRuntimeClient,
  input: Asking["input"],
  abortSignal: AbortSignal,
  show: (delta: Delta) => void,
): Promise<WireAnswer> {
  const { stream } = await client.send(new ConverseStreamCommand(input), { abortSignal });
  return gather(stream ?? nothing(), show);
}

async function whole(
  client: BedrockRuntimeClient,
  input: Asking["input"],
  abortSignal: AbortSignal,
  show: (delta: Delta) => void,
): Promise<WireAnswer> {
  const { guardrailConfig, ...rest } = input;
  const { streamProcessingMode: _, ...guardrail } = guardrailConfig ?? {}; // of streams alone
  const command = new ConverseCommand({
    ...rest,
    ...(guardrailConfig === undefined ? {} : { guardrailConfig: guardrail }),
  });
  const answer = wholeAnswer(await client.send(command, { abortSignal }));
  if (answer === null) throw new SyntaxError("it is no message");
  for (const block of answer.blocks)
    if (block.type !== "toolUse" && block.text !== "") show({ type: block.type, text: block.text });
  return answer;
}

async function* nothing(): AsyncGenerator<never> {}
