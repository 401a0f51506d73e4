// The provider's prompt cache: what was marked in an earlier request is read by a later one that begins with the same, if a mark stands within twenty blocks
// after it. Tokens are counted as four characters each.

import { withoutMarks } from "./rules.ts";
import type { Body } from "./shape.ts";
import { digest } from "./signature.ts";

const LOOKBACK_BLOCKS = 20;

export interface InputUsage {
  readonly input_tokens: number;
  readonly cache_read_input_tokens: number;
  readonly cache_creation_input_tokens: number;
}

export const tokensOf = (text: string): number => Math.ceil(text.length / 4);

export interface Cache {
  /** Reads what it can, and keeps what is marked. */
  account(body: Body): InputUsage;
}

export function createCache(): Cache {
  const kept = new Set<string>();
  return {
    account: (body) => {
      const blocks: object[] = [
        ...(body.tools ?? []),
        ...(body.system ?? []),
        ...body.messages.flatMap(({ role, content }) => content.map((block) => ({ role, ...block }))),
      ];
      let chain = digest(body.model);
      let tokens = 0;
      const links = blocks.map((block) => {
        const text = withoutMarks(block);
        chain = digest(chain + text);
        tokens += tokensOf(text);
        return { chain, tokens, marked: "cache_control" in block && block.cache_control !== undefined };
      });
      const marks = [...links.keys()].filter((i) => links[i]?.marked);
      const reads = marks.flatMap((i) =>
        [...links.keys()].filter((k) => k <= i && k > i - LOOKBACK_BLOCKS && kept.has(links[k]?.chain ?? "")),
      );
      const read = links[Math.max(-1, ...reads)]?.tokens ?? 0;
      const written = links[marks.at(-1) ?? -1]?.tokens ?? 0;
      for (const i of marks) kept.add(links[i]?.chain ?? "");
      const cacheRead = Math.min(read, written);
      return {
        input_tokens: tokens - written,
        cache_read_input_tokens: cacheRead,
        cache_creation_input_tokens: written - cacheRead,
      };
    },
  };
}
