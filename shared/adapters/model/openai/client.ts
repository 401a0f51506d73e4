// The SDK, told to keep to itself: no retries, no telemetry, nothing from the process' environment.
import OpenAI from "openai";
import { MODEL_ERROR_PAGE_CHARS, MODEL_TIMEOUT_MS } from "../../../core/limits.ts";
import { withoutTags } from "../failure.ts";

export interface OpenAiSettings {
  /** As the provider names it: `gpt-5-mini`. */
  readonly model: string;
  /** Empty: a server of one's own that wants none. */
  readonly apiKey: string;
  /** Undefined or empty: OpenAI's own. */
  readonly baseURL: string | undefined;
  /** Of an account with several: who is billed. */
  readonly organization?: string | undefined;
  readonly project?: string | undefined;
  /** The longest silence of a stream, before its first byte and in it; default MODEL_SILENCE_MS. */
  readonly silenceMs?: number;
  /** Between two looks at an answer that is made in the background; default MODEL_POLL_MS. */
  readonly pollMs?: number;
}

/**
 * All that the SDK would read in the environment is said, but for OPENAI_CUSTOM_HEADERS, which it can't be told to leave alone. So the headers that go out
 * are made here.
 */
export function createClient({ apiKey, baseURL, organization, project }: OpenAiSettings): OpenAI {
  const key = apiKey || "none"; // an empty one has the SDK look for others
  const headers = {
    accept: "application/json, text/event-stream",
    "content-type": "application/json",
    authorization: `Bearer ${key}`,
    "user-agent": "toren",
    ...(organization ? { "openai-organization": organization } : {}),
    ...(project ? { "openai-project": project } : {}),
  };
  return new OpenAI({
    apiKey: key,
    adminAPIKey: null,
    webhookSecret: null,
    baseURL: baseURL || null,
    organization: organization || null,
    project: project || null,
    maxRetries: 0,
    timeout: MODEL_TIMEOUT_MS,
    logLevel: "off",
    fetch: async (url, init) => {
      const response = await fetch(url, { ...init, headers });
      return response.ok ? response : readable(response);
    },
  });
}

/** Servers that only look like OpenAI's give errors other forms: a text, a `detail`, a page in HTML. The SDK would lose their words. */
async function readable(response: Response): Promise<Response> {
  const text = await response.text();
  const { status } = response;
  const headers = new Headers(response.headers);
  headers.delete("content-encoding"); // it was undone
  headers.delete("content-length");
  const error = readableError(text);
  return new Response(error === null ? text : JSON.stringify({ error }), { status, headers });
}

/** The type of an error that came as something else than JSON: it isn't the API that speaks. */
export const PAGE = "page";

/** Null: they stand where the SDK looks. */
function readableError(text: string): { readonly message: string; readonly type?: typeof PAGE } | null {
  try {
    const { error, detail, message } = JSON.parse(text) as Record<string, unknown>;
    if (typeof error === "object" && error !== null) return null;
    const found = [error, detail, message].find((words) => words !== undefined && words !== null);
    return { message: typeof found === "string" ? found : JSON.stringify(found ?? JSON.parse(text)) };
  } catch {
    return { message: pageWords(text) || "no words", type: PAGE };
  }
}

/** The first words of what is no JSON. */
export const pageWords = (page: string): string =>
  withoutTags(page.replace(/<(script|style)\b.*?<\/\1>/gis, " "))
    .slice(0, MODEL_ERROR_PAGE_CHARS)
    .toWellFormed();
