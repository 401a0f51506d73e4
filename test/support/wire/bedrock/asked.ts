// A request as rules look at it.
import type { ConverseBody } from "./shape.ts";

export interface Asked {
  readonly modelId: string;
  readonly stream: boolean;
  readonly body: ConverseBody;
}

export type Family = "claude" | "nova" | "other";
/** The text of the ValidationException; null: nothing against it. */
export type Rule = (asked: Asked, family: Family) => string | null;

export const familyOf = (modelId: string): Family =>
  /anthropic\.claude/.test(modelId) ? "claude" : /amazon\.nova/.test(modelId) ? "nova" : "other";

/** What is found first. */
export const firstOf = <T>(items: readonly T[], find: (item: T, i: number) => string | null): string | null => {
  for (const [i, item] of items.entries()) {
    const found = find(item, i);
    if (found !== null) return found;
  }
  return null;
};

/** Everything in the order in which a cache takes it. */
export const blocksInOrder = ({ body: { toolConfig: config, system = [], messages } }: Asked): object[] => [
  ...(config?.tools ?? []),
  ...system,
  ...messages.flatMap(({ content }) => content),
];
