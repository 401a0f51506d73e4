// Models on Amazon Bedrock, by the Converse API. Streams, so that a long answer keeps its connection; the SDK's retries are off: the engine's policy is the
// only one. Credentials by the SDK's own chain.
import {
  BedrockRuntimeClient,
  type BedrockRuntimeClientConfig,
  ConverseCommand,
  ConverseStreamCommand,
} from "@aws-sdk/client-bedrock-runtime";
import { MODEL_TIMEOUT_MS } from "../../../core/limits.ts";
import type { AskContext, Model, ModelAnswer } from "../../../ports/model.ts";
import { MALFORMED, responseOf, type WireAnswer, wholeAnswer } from "./answer.ts";
import { concede } from "./concessions.ts";
import { failure, failureOf, isRefusal } from "./failures.ts";
import { readFiles } from "./files.ts";
import { readBedrockOptions } from "./options.ts";
import { converseInput, type Plan, type Question } from "./request.ts";
import { gather } from "./stream.ts";
import { regionOf, traitsOf } from "./traits.ts";
import { createTransport } from "./transport.ts";

export interface BedrockSettings {
  /** The id of a foundation model or an inference profile, or an ARN, as the role names it behind `bedrock/`. */
  readonly model: string;
  /** Where it is asked; an ARN names its own region. */
  readonly region: string;
  /** Undefined or empty: AWS' own. */
  readonly endpoint: string | undefined;
  /** For one call, whole; MODEL_TIMEOUT_MS by default. */
  readonly timeoutMs?: number;
  /** Left out: the SDK's chain (environment, profile, container, instance). */
  readonly credentials?: NonNullable<BedrockRuntimeClientConfig["credentials"]>;
}

export function createBedrock(settings: BedrockSettings): Model {
  const { model, timeoutMs = MODEL_TIMEOUT_MS, credentials } = settings;
  const endpoint = settings.endpoint || undefined;
  const region = (endpoint === undefined ? regionOf(model) : null) ?? settings.region;
  const client = new BedrockRuntimeClient({
    region,
    maxAttempts: 1,
    requestHandler: createTransport(),
    ...(endpoint === undefined ? {} : { endpoint }),
    ...(credentials === undefined ? {} : { credentials }),
  });
  const place = { modelId: model, region, endpoint };
  /** What was conceded to the model behind this id, from all calls that it answered. */
  let refused: Partial<Plan> = {};

  return {
    ask: async (request, signal, context): Promise<ModelAnswer> => {
      const late = AbortSignal.timeout(timeoutMs);
      const either = AbortSignal.any([signal, late]);
      try {
        const read = readBedrockOptions(model, request.options);
        if (!read.ok) return { ok: false, failure: failure("model.bad_request", `options: ${read.problem}`, false) };
        const known = read.options.foundationModel ?? model;
        const traits = traitsOf(known);
        const messages = await readFiles(request.messages, traits, context?.media);
        const question: Question = { modelId: model, model: known, traits, options: read.options, request, messages };
        const plan = { ...firstPlan(question), ...refused };
        const { answer, conceded } = await ask(client, question, plan, either, context?.onDelta);
        refused = { ...refused, ...conceded };
        if (MALFORMED.has(answer.stopReason) && answer.blocks.every(({ type }) => type !== "toolUse"))
          return {
            ok: false,
            failure: failure("model.bad_answer", `The model's answer is ${answer.stopReason}.`, true),
          };
        return { ok: true, response: responseOf(answer, known) };
      } catch (thrown) {
        if (late.aborted && !signal.aborted)
          return {
            ok: false,
            failure: failure("model.unavailable", `Bedrock did not answer within ${timeoutMs} ms.`, true),
          };
        return { ok: false, failure: failureOf(thrown, place, signal) };
      }
    },
  };
}

function firstPlan({ traits, request, messages }: Question): Plan {
  const tools =
    request.tools.length > 0 ||
    messages.some(({ role, content }) => role === "assistant" && content.some(({ type }) => type === "toolUse"));
  return { stream: traits.streamsTools || !tools, marks: true, reasoning: true, outputSchema: traits.outputSchema };
}

async function ask(
  client: BedrockRuntimeClient,
  question: Question,
  first: Plan,
  signal: AbortSignal,
  onDelta: AskContext["onDelta"],
): Promise<{ readonly answer: WireAnswer; readonly conceded: Partial<Plan> }> {
  let plan = first;
  let conceded: Partial<Plan> = {};
  for (;;) {
    try {
      return { answer: await send(client, question, plan, signal, onDelta), conceded };
    } catch (thrown) {
      const next = isRefusal(thrown) ? concede(plan, thrown.message) : null; // ends: each time there is less to concede
      if (next === null) throw thrown;
      conceded = { ...conceded, ...difference(plan, next) };
      plan = next;
    }
  }
}

const difference = (before: Plan, after: Plan): Partial<Plan> =>
  Object.fromEntries(Object.entries(after).filter(([key, value]) => before[key as keyof Plan] !== value));

async function send(
  client: BedrockRuntimeClient,
  question: Question,
  plan: Plan,
  abortSignal: AbortSignal,
  onDelta: AskContext["onDelta"],
): Promise<WireAnswer> {
  const input = converseInput(question, plan);
  if (plan.stream) {
    const { stream } = await client.send(new ConverseStreamCommand(input), { abortSignal });
    return gather(stream ?? nothing(), onDelta);
  }
  const { guardrailConfig, ...rest } = input;
  const { streamProcessingMode: _, ...guardrail } = guardrailConfig ?? {};
  const whole = await client.send(
    new ConverseCommand({ ...rest, ...(guardrailConfig === undefined ? {} : { guardrailConfig: guardrail }) }),
    { abortSignal },
  );
  const answer = wholeAnswer(whole);
  if (answer === null) throw new SyntaxError("it is no message");
  return answer;
}

async function* nothing(): AsyncGenerator<never> {}
