// What a request that OpenAI refuses, or a server that speaks as it does, can do without (ask-legally.ts); and what of it is remembered.

import { canonical } from "../../../core/json.ts";
import type { ModelRequest } from "../../../core/messages.ts";
import type { ModelAnswer } from "../../../ports/model.ts";
import { type Asking, askLegally } from "../ask-legally.ts";
import type { ShownFile } from "../media.ts";
import type { Complaint } from "./failures.ts";

export interface LeftOut {
  /** Reasoning of earlier answers, and the ids of what followed it. */
  readonly reasoning: boolean;
  /** The wish for reasoning in a form that can be sent back: models that don't reason refuse it. */
  readonly encrypted: boolean;
  /** The answer's schema: the system prompt says it in words. */
  readonly schema: boolean;
  /** Streaming: organisations that OpenAI hasn't verified may not, with some models. */
  readonly stream: boolean;
  /** The wish for the usage at a stream's end: not every server knows it. */
  readonly streamOptions: boolean;
  /** Files, with the reason that the provider gave. */
  readonly files: ReadonlyMap<ShownFile, string>;
}
export const NOTHING_LEFT_OUT: LeftOut = {
  reasoning: false,
  encrypted: false,
  schema: false,
  stream: false,
  streamOptions: false,
  files: new Map(),
};

/** What stands in a request that could be left out. */
export interface Draft {
  readonly reasoning: boolean;
  readonly encrypted: boolean;
  readonly schema: boolean;
  readonly stream: boolean;
  readonly streamOptions: boolean;
  /** By their places, in the words of the provider's errors: `input[0].content[1]`. */
  readonly files: ReadonlyMap<string, ShownFile>;
}

/** What an account or a server turned out not to take. Reasoning and files aren't among it: their refusal is about one conversation. */
export interface Learned {
  /** Asks without what is known to be refused, and then without what is found to be. */
  ask<D extends Draft>(
    request: ModelRequest,
    by: Pick<Asking<LeftOut, D, Complaint>, "draft" | "ask">,
  ): Promise<ModelAnswer>;
}

export function createLearned(): Learned {
  let known: Partial<LeftOut> = {};
  const schemas = new Set<string>();
  const schemaOf = ({ outputSchema }: ModelRequest): string => canonical(outputSchema ?? null);
  const learn = (request: ModelRequest, { stream, streamOptions, encrypted, schema }: LeftOut): void => {
    const left = Object.entries({ stream, streamOptions, encrypted }).filter(([, isLeftOut]) => isLeftOut);
    known = { ...known, ...Object.fromEntries(left) };
    if (schema) schemas.add(schemaOf(request));
  };
  return {
    ask: async (request, { draft, ask }) => {
      const schema = schemas.has(schemaOf(request)) ? { schema: true } : {};
      const first: LeftOut = { ...NOTHING_LEFT_OUT, ...known, ...schema };
      const { answer, plan } = await askLegally(first, { draft, ask, without });
      if (answer.ok) learn(request, plan);
      return answer;
    },
  };
}

/** Null: nothing in the request explains the complaint. */
function without(complaint: Complaint, draft: Draft, leftOut: LeftOut): LeftOut | null {
  const { code, param, words } = complaint;
  const { status = 400 } = complaint;
  if (status === 401 || status === 429 || (status >= 500 && !/support|mmproj/i.test(words))) return null; // an outage is no refusal
  const about = (pattern: RegExp): boolean => pattern.test(`${code} ${param} ${words}`);
  if (draft.streamOptions && about(/stream_options|include_usage/)) return { ...leftOut, streamOptions: true };
  if (draft.stream && (param === "stream" || about(/\bto stream\b|stream(ing)? .{0,40}not (support|allow)/i)))
    return { ...leftOut, stream: true };
  if (draft.encrypted && (param.startsWith("include") || about(/encrypted.content is not supported/i)))
    return { ...leftOut, encrypted: true };
  if (draft.reasoning && about(REASONING)) return { ...leftOut, reasoning: true };
  if (draft.schema && about(SCHEMA) && !about(/\bfunction\b|tools\b/i)) return { ...leftOut, schema: true };
  if (draft.files.size === 0 || !(status === 413 || about(FILES))) return null;
  return { ...leftOut, files: new Map([...leftOut.files, ...refusedFiles(complaint, draft)]) };
}

/** The file that is named by its place; all of them, where the provider only speaks of some. */
function refusedFiles({ param, words }: Complaint, draft: Draft): (readonly [ShownFile, string])[] {
  const reason = `the provider refused it: ${words}`;
  const place = /\b(input|messages)\[\d+\]\.(content|output)\[\d+\]/.exec(`${param} ${words}`)?.[0];
  const named = place === undefined ? undefined : draft.files.get(place);
  return (named === undefined ? [...draft.files.values()] : [named]).map((file) => [file, reason] as const);
}

const REASONING =
  /encrypted[_ ]content|\breasoning(_content)?\b.{0,60}\b(item|input|message|field|block)|\brs_|\bItem with id|Duplicate item/i;
const SCHEMA = /response_format|text\.format|json_schema|structured output|grammar|guided|schema/i;
const FILES =
  /image|vision|multi-?modal|mmproj|\bpdf\b|input_file|file_data|content (part|type)|unsupported.{0,20}(file|media)/i;
