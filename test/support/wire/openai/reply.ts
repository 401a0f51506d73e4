// What a test has the model say, in terms of both interfaces.
import { createHash } from "node:crypto";

export type ReplyItem =
  | { readonly text: string; readonly phase?: "commentary" | "final_answer" }
  | { readonly refusal: string }
  /** `json`: the arguments' text, where it isn't the JSON of `args`. `id`: of the call. */
  | { readonly tool: string; readonly args?: unknown; readonly json?: string; readonly id?: string }
  | { readonly reasoning: string; readonly summary?: readonly string[] }
  /** A search that the provider made itself. */
  | { readonly search: string };

/** A text alone is a whole answer. */
export type Reply =
  | string
  | {
      readonly items: readonly ReplyItem[];
      /** Default: `completed`. */
      readonly status?: "completed" | "incomplete" | "failed" | "cancelled";
      /** Of an incomplete one; default: `max_output_tokens`. */
      readonly reason?: string;
      readonly error?: { readonly code: string; readonly message: string };
      /** Members of the usage object that are to be something else. */
      readonly usage?: object;
      readonly servedBy?: string;
    };

export const itemsOf = (reply: Reply): readonly ReplyItem[] =>
  typeof reply === "string" ? [{ text: reply }] : reply.items;

export interface Spent {
  readonly input: number;
  readonly cached: number;
  readonly written: number;
  readonly output: number;
  readonly reasoning: number;
}

export const tokensOf = (text: string): number => Math.ceil(text.length / 4);

export function outputOf(items: readonly ReplyItem[]): Pick<Spent, "output" | "reasoning"> {
  const reasoning = tokensOf(items.map((item) => ("reasoning" in item ? item.reasoning : "")).join(""));
  return { output: Math.max(1, tokensOf(JSON.stringify(items))) + reasoning, reasoning };
}

export interface Cache {
  /** What of a prompt was there, in steps of 128 tokens from 1,024 on; the prompt is there from now on. */
  account(prompt: string, writes: boolean): Pick<Spent, "input" | "cached" | "written">;
}

const STEP_CHARS = 128 * 4;
const FIRST_STEPS = 8;

export function createCache(): Cache {
  const known = new Set<string>();
  return {
    account: (prompt, writes) => {
      const hash = createHash("sha256");
      let cached = 0;
      let steps = 0;
      for (let at = 0; at + STEP_CHARS <= prompt.length; at += STEP_CHARS) {
        const key = hash
          .update(prompt.slice(at, at + STEP_CHARS))
          .copy()
          .digest("base64url");
        steps++;
        if (known.has(key) && cached === steps - 1) cached = steps;
        known.add(key);
      }
      const input = tokensOf(prompt);
      const found = cached >= FIRST_STEPS ? cached * 128 : 0;
      return { input, cached: found, written: writes && input >= 1_024 ? input - found : 0 };
    },
  };
}

/** A few characters at a time; joined they are the text. */
export function pieces(text: string): string[] {
  const size = Math.max(5, Math.ceil(text.length / 400));
  const found: string[] = [];
  for (let at = 0; at < text.length; at += size) found.push(text.slice(at, at + size));
  return found;
}

export const argumentsOf = ({ args = {}, json }: Extract<ReplyItem, { readonly tool: string }>): string =>
  json ?? JSON.stringify(args);

export const newCallId = (): string => `call_${Math.random().toString(36).slice(2).padEnd(12, "0")}`;
