// What OpenAI's models take and refuse, as far as it is known, by their names. Under a base URL any name may stand for anything.

export interface Family {
  /** Levels of effort; empty: it doesn't reason; null: not known. */
  readonly efforts: readonly string[] | null;
  /** Whether it takes temperature and top_p: always, never, or only without reasoning, said (`effort: none`) or by its default. */
  readonly sampling: "always" | "never" | "withoutReasoning" | "withEffortNone";
  readonly images: boolean;
  /** It isn't served by chat completions. */
  readonly responsesOnly: boolean;
}

const CHATS: Family = { efforts: [], sampling: "always", images: true, responsesOnly: false };
const REASONS: Family = { efforts: ["low", "medium", "high"], sampling: "never", images: true, responsesOnly: false };
const UP_TO_HIGH = ["none", "low", "medium", "high"];

/** Null: nothing is known of it. */
export function familyOf(model: string): Family | null {
  const name = model.replace(/-\d{4}-\d{2}-\d{2}$/, "");
  if (name.startsWith("gpt-3.5")) return { ...CHATS, images: false };
  if (/^(gpt-4|chatgpt-4o|gpt-5-chat)/.test(name)) return CHATS;
  if (/^gpt-\d+(\.\d+)?-chat/.test(name)) return null; // instant models of later generations
  const variant = /-(pro|codex|deep-research)\b/.test(name);
  const family = /^o\d/.test(name) ? REASONS : generation(name);
  if (family === null) return null;
  return {
    ...family,
    ...(variant ? { efforts: null, responsesOnly: true } : {}),
    images: !/^(o1-mini|o1-preview|o3-mini)/.test(name),
  };
}

function generation(name: string): Family | null {
  const [, major, minor = "0"] = /^gpt-(\d+)(?:\.(\d+))?(?:-|$)/.exec(name) ?? [];
  if (major === undefined) return null;
  const version = Number(major) * 100 + Number(minor);
  if (version < 500) return null;
  if (version === 500) return { ...REASONS, efforts: ["minimal", "low", "medium", "high"] };
  const efforts = [...UP_TO_HIGH, ...(version >= 502 ? ["xhigh"] : []), ...(version >= 506 ? ["max"] : [])];
  return { ...REASONS, efforts, sampling: version >= 506 ? "withEffortNone" : "withoutReasoning" };
}
