// What a model on Bedrock takes, by its id. Converse hides most differences between models, not these: each was a refusal that somebody met. What isn't
// known of a model is taken as "no": a mark or a picture that is left out costs something, one that is refused costs the task.
// Sources: the Bedrock user guide (supported models and features, prompt caching, API restrictions, structured output) and Bedrock's own error texts.
import { BEDROCK_FILES_MAX_BYTES, BEDROCK_PDF_MAX_BYTES } from "../../../core/limits.ts";

export interface Traits {
  readonly family: "claude" | "nova" | "other" | "unknown";
  /** Major and minor version in one number: 4.5 of Claude is 405. 0: not known. */
  readonly version: number;
  readonly images: boolean;
  readonly pdf: boolean;
  readonly pdfMaxBytes: number;
  /** Files may stand within the result of a tool; else they follow all results of their message. */
  readonly imagesInResults: boolean;
  readonly pdfInResults: boolean;
  /** Places of cache marks. */
  readonly cachesTools: boolean;
  readonly caches: boolean;
  /** A message with results of tools may be marked. */
  readonly cachesResults: boolean;
  /** Takes back the reasoning that it signed; the others refuse all, their own too. Where the model isn't known, a signature is taken for a yes. */
  readonly takesReasoning: boolean;
  /** Thinks unless told otherwise, and hides it: it is asked for a summary, so that people see something. */
  readonly thinksUnasked: boolean;
  /** Takes its reasoning back only while nothing before it has changed. */
  readonly bindsReasoning: boolean;
  /** Words may stand beside results of tools in one message. */
  readonly textBesideResults: boolean;
  /** Results of tools may say that they are errors. */
  readonly resultStatus: boolean;
  /** Streams while tools are offered. */
  readonly streamsTools: boolean;
  /** Input schemas may hold `type`, `properties` and `required` at their root, nothing else. */
  readonly bareSchemas: boolean;
  /** Input schemas may hold no alternatives at their root, and short, plain names of properties only. */
  readonly closedSchemas: boolean;
  /** Can be held to a schema. */
  readonly outputSchema: boolean;
}

const UNKNOWN: Traits = {
  family: "unknown",
  version: 0,
  images: false,
  pdf: false,
  pdfMaxBytes: BEDROCK_PDF_MAX_BYTES,
  imagesInResults: false,
  pdfInResults: false,
  cachesTools: false,
  caches: false,
  cachesResults: false,
  takesReasoning: true,
  thinksUnasked: false,
  bindsReasoning: true,
  textBesideResults: false,
  resultStatus: false,
  streamsTools: true,
  bareSchemas: false,
  closedSchemas: false,
  outputSchema: false,
};

/** Of the other families: those that their makers and Bedrock's page of each say see images. */
const SEEING =
  /^meta\.llama(?:3-2-(?:11|90)b|4)|^mistral\.(?:pixtral|mistral-large-3|magistral)|^qwen\.qwen3-vl|^google\.gemma-3|^openai\.gpt-[5-9]|^moonshotai\.kimi-k2\.5/;

/** By the id of a foundation model or inference profile, or the ARN of either. An ARN that names no model is unknown. */
export function traitsOf(modelId: string): Traits {
  const id = baseId(modelId);
  if (id.startsWith("anthropic.claude")) return claude(claudeVersion(id), id);
  if (id.startsWith("amazon.nova")) return nova(id);
  if (id.startsWith("arn:") || !id.includes(".")) return UNKNOWN;
  return {
    ...UNKNOWN,
    family: "other",
    takesReasoning: false,
    images: SEEING.test(id),
    streamsTools: !/^(?:meta|mistral|ai21)\./.test(id),
  };
}

/** The foundation model's id, of whatever region: without what an ARN or a geographic profile puts before it. */
export function baseId(modelId: string): string {
  const resource =
    /^arn:[^:]*:bedrock:[^:]*:[^:]*:(?:foundation-model|inference-profile)\/(.+)$/.exec(modelId)?.[1] ?? modelId;
  return resource.replace(/^(?:global|apac|us-gov|us|eu|jp|au|ca|sa|me|af|il)\.(?=[^.]+\.)/, "");
}

/** An ARN lives in one region, and is known in no other; null: the id is no ARN. */
export const regionOf = (modelId: string): string | null => /^arn:[^:]*:bedrock:([^:]+):/.exec(modelId)?.[1] ?? null;

/** `claude-3-7-sonnet-20250219`, `claude-opus-4-20250514`, `claude-sonnet-4-5-…`, `claude-opus-5`; 0: named in no known way. */
function claudeVersion(id: string): number {
  const [, oldMajor, oldMinor, major, minor] =
    /claude-(?:(\d+)(?:-(\d{1,2}))?-[a-z]|[a-z]+-(\d+)(?:-(\d{1,2})(?!\d))?(?!\d))/.exec(id) ?? [];
  return Number(oldMajor ?? major ?? 0) * 100 + Number(oldMinor ?? minor ?? 0);
}

function claude(version: number, id: string): Traits {
  if (/claude-(?:v\d|instant)/.test(id))
    return { ...UNKNOWN, family: "claude", version: 200, takesReasoning: false, textBesideResults: true };
  const since = (first: number): boolean => version === 0 || version >= first; // an unknown name is a new one
  const smallOld = id.includes("3-5-haiku"); // text alone
  const caches = since(307) || smallOld;
  return {
    ...UNKNOWN,
    family: "claude",
    version,
    images: !smallOld,
    pdf: !smallOld,
    pdfMaxBytes: since(400) ? BEDROCK_FILES_MAX_BYTES : BEDROCK_PDF_MAX_BYTES,
    imagesInResults: !smallOld,
    caches,
    cachesTools: caches,
    cachesResults: caches,
    takesReasoning: since(307),
    thinksUnasked: version >= 500,
    bindsReasoning: since(501),
    textBesideResults: true,
    resultStatus: true,
    closedSchemas: true,
    outputSchema: since(405),
  };
}

function nova(id: string): Traits {
  const second = id.startsWith("amazon.nova-2");
  const seeing = /^amazon\.nova-(?:2-)?(?:lite|pro|premier)/.test(id);
  return {
    ...UNKNOWN,
    family: "nova",
    takesReasoning: false,
    version: second ? 200 : 100,
    images: seeing,
    pdf: seeing,
    pdfMaxBytes: BEDROCK_FILES_MAX_BYTES,
    imagesInResults: seeing,
    pdfInResults: seeing,
    caches: /^amazon\.nova-(?:micro|lite|pro|premier|2-lite)/.test(id),
    textBesideResults: true,
    resultStatus: true,
    bareSchemas: true,
  };
}
