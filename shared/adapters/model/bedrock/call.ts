// One question over the wire, as often as Bedrock says that it is asked in a way that the model doesn't take.
import { type BedrockRuntimeClient, ConverseCommand, ConverseStreamCommand } from "@aws-sdk/client-bedrock-runtime";
import type { AskContext } from "../../../ports/model.ts";
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

/** Throws what the SDK throws. */
export async function call(
  client: BedrockRuntimeClient,
  question: Question,
  first: Plan,
  signal: AbortSignal,
  onDelta: AskContext["onDelta"],
): Promise<Answered> {
  let plan = first;
  for (;;) {
    const { input, prefix } = converseInput(question, plan);
    try {
      const answer = plan.stream
        ? await streamed(client, input, signal, onDelta)
        : await whole(client, input, signal, onDelta);
      return { answer, prefix, plan };
    } catch (thrown) {
      const next = isRefusal(thrown) ? concede(plan, thrown.message) : null;
      if (next === null) throw thrown; // else again: each time there is less to concede
      plan = next;
    }
  }
}

async function streamed(
  client: BedrockRuntimeClient,
  input: Asking["input"],
  abortSignal: AbortSignal,
  onDelta: AskContext["onDelta"],
): Promise<WireAnswer> {
  const { stream } = await client.send(new ConverseStreamCommand(input), { abortSignal });
  return gather(stream ?? nothing(), onDelta);
}

async function whole(
  client: BedrockRuntimeClient,
  input: Asking["input"],
  abortSignal: AbortSignal,
  onDelta: AskContext["onDelta"],
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
    if (block.type !== "toolUse" && block.text !== "") onDelta?.({ type: block.type, text: block.text });
  return answer;
}

async function* nothing(): AsyncGenerator<never> {}
