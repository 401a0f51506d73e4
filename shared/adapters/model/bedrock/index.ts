// Models on Amazon Bedrock, by the Converse API. Streams, so that a long answer keeps its connection; the SDK's retries are off: the engine's policy is the
// only one. Credentials by the SDK's own chain.
import {
  BedrockRuntimeClient,
  type BedrockRuntimeClientConfig,
  type TokenUsage,
} from "@aws-sdk/client-bedrock-runtime";
import { messageOf } from "../../../core/errors.ts";
import { MODEL_SILENCE_MS } from "../../../core/limits.ts";
import type { ModelRequest, Usage } from "../../../core/messages.ts";
import type { AskContext, Model, ModelAnswer, ModelFailure } from "../../../ports/model.ts";
import { type Asked, askLegally } from "../ask-legally.ts";
import { failure, withUsage } from "../failure.ts";
import { MALFORMED, responseOf, usageOf, type WireAnswer } from "./answer.ts";
import { call, type Line, TooSilent } from "./call.ts";
import { concede } from "./concessions.ts";
import { failureOf, isRefusal } from "./failures.ts";
import { readFiles } from "./files.ts";
import { optionsRefused, readBedrockOptions } from "./options.ts";
import type { Origin } from "./reasoning.ts";
import { type Asking, converseInput, type Plan, type Question } from "./request.ts";
import { regionOf, traitsOf } from "./traits.ts";
import { createTransport } from "./transport.ts";

export interface BedrockSettings {
  /** The id of a foundation model or an inference profile, or an ARN, as the role names it behind `bedrock/`. */
  readonly model: string;
  /** Where it is asked; an ARN names its own region. */
  readonly region: string;
  /** Undefined or empty: AWS' own. */
  readonly endpoint: string | undefined;
  /** The longest silence of a stream, before its first event and in it; default MODEL_SILENCE_MS. */
  readonly silenceMs?: number;
  /** Left out: the SDK's chain (environment, profile, container, instance). */
  readonly credentials?: NonNullable<BedrockRuntimeClientConfig["credentials"]>;
}

export function createBedrock(settings: BedrockSettings): Model {
  const { model, silenceMs = MODEL_SILENCE_MS, credentials } = settings;
  const endpoint = settings.endpoint || undefined;
  const region = (endpoint === undefined ? regionOf(model) : null) ?? settings.region;
  const client = new BedrockRuntimeClient({
    region,
    maxAttempts: 1,
    requestHandler: createTransport(),
    ...(endpoint === undefined ? {} : { endpoint }),
    ...(credentials === undefined ? {} : { credentials }),
  });
  /** What the model behind this id turned out not to take. Reasoning and files aren't among it: their refusal is about one conversation. */
  let known: Partial<Plan> = {};

  return {
    ask: async (request, signal, context): Promise<ModelAnswer> => {
      const prepared = await prepare(model, request, context);
      if ("error" in prepared) return { ok: false, failure: prepared };
      const first = { ...firstPlan(prepared), ...known };
      const { answer, plan } = await askLegally<Plan, Asking, string>(first, {
        draft: (next) => converseInput(prepared, next),
        ask: (asking, next) => tried({ client, signal, silenceMs }, prepared, { asking, plan: next }, context?.onDelta),
        without: concede,
      });
      const { stream, marks, outputSchema, summary } = plan;
      if (answer.ok) known = { ...known, ...onlyFalse({ stream, marks, outputSchema, summary }, first) };
      return answer;
    },
  };

  async function tried(
    line: Omit<Line, "told">,
    { model: behind }: Question,
    { asking, plan }: { readonly asking: Asking; readonly plan: Plan },
    onDelta: AskContext["onDelta"],
  ): Promise<Asked<string>> {
    let used: Usage | null = null;
    const told = (usage: TokenUsage | undefined): void => {
      if (usage !== undefined) used = usageOf({ usage }, true, behind);
    };
    try {
      return answerOf(await call({ ...line, told }, asking, plan, onDelta), { model: behind, prefix: asking.prefix });
    } catch (thrown) {
      const found = line.signal.aborted
        ? failure("model.unavailable", "The call was stopped.", true)
        : thrown instanceof TooSilent
          ? failure("model.unavailable", thrown.message, true)
          : failureOf(thrown, { modelId: model, region, endpoint });
      const refusal = !line.signal.aborted && isRefusal(thrown) ? thrown.message : null;
      return { ok: false, failure: withUsage(found, used), refusal };
    }
  }
}

async function prepare(
  modelId: string,
  request: ModelRequest,
  context: AskContext | undefined,
): Promise<Question | ModelFailure> {
  const read = readBedrockOptions(modelId, request.options);
  if (!read.ok) return failure("model.bad_request", optionsRefused(modelId, read.problem), false);
  const model = read.options.foundationModel ?? modelId;
  const traits = traitsOf(model);
  try {
    const messages = await readFiles(request.messages, traits, context?.media);
    return { modelId, model, traits, options: read.options, request, messages };
  } catch (thrown) {
    return failure("model.unavailable", `A file of the request can't be read: ${messageOf(thrown)}`, true);
  }
}

function firstPlan({ traits, options, request, messages }: Question): Plan {
  const tools =
    request.tools.length > 0 ||
    messages.some(({ role, content }) => role === "assistant" && content.some(({ type }) => type === "toolUse"));
  return {
    stream: traits.streamsTools || !tools,
    marks: true,
    reasoning: true,
    outputSchema: traits.outputSchema,
    summary: traits.thinksUnasked && options.additionalModelRequestFields?.thinking === undefined,
    refused: new Set(),
  };
}

/** What the plan began with and was given up. */
const onlyFalse = (now: Pick<Plan, "stream" | "marks" | "outputSchema" | "summary">, before: Plan): Partial<Plan> =>
  Object.fromEntries(Object.entries(now).filter(([key, value]) => !value && before[key as keyof Plan]));

function answerOf(answer: WireAnswer, origin: Origin): Asked<string> {
  const { stopReason, blocks, streamed } = answer;
  if (MALFORMED.has(stopReason) && blocks.every(({ type }) => type !== "toolUse")) {
    const found = failure("model.bad_answer", `The model's answer is no use: ${stopReason}.`, true);
    return { ok: false, failure: withUsage(found, usageOf(answer, streamed, origin.model)), refusal: null };
  }
  return { ok: true, response: responseOf(answer, origin) };
}
