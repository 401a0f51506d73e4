// What one call has to do with: the connection, and whoever watches.
import type OpenAI from "openai";
import type { AskContext, Delta } from "../../../ports/model.ts";
import type { OpenAiSettings } from "./client.ts";

export interface Line {
  readonly client: OpenAI;
  readonly settings: OpenAiSettings;
  readonly signal: AbortSignal;
}

/** Nobody watches, and there are no files. */
export const NOBODY: AskContext = { media: async () => null };

export interface Watch {
  show(delta: Delta): void;
  /** What was shown is. */
  void(): void;
}

export function createWatch(onDelta: AskContext["onDelta"]): Watch {
  let shown = false;
  return {
    show: (delta) => {
      shown = true;
      onDelta?.(delta);
    },
    void: () => {
      if (shown) onDelta?.({ type: "restart" });
      shown = false;
    },
  };
}
