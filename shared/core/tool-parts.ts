// What a tool gives a model to look at beside text: files that are attached to the run. Branded, so that a plain object stays what it is: JSON output.

/** By the global registry of symbols: two copies of this module (an agent's and the runtime's) agree. */
const PARTS = Symbol.for("toren.tool-parts");

export type Part =
  | { readonly type: "text"; readonly text: string }
  /** A file attached to the run, by its id; shown to models that can see it, named in words to others. */
  | { readonly type: "image" | "pdf"; readonly fileId: string };

export interface ToolParts {
  readonly [PARTS]: { readonly parts: readonly Part[]; readonly isError: boolean };
}

/**
 * A tool's result of several parts: `toolParts([{ type: "text", text: "The plan:" }, { type: "image", fileId }])`. Texts are joined by line breaks and come
 * first. `isError`: the model is told that the tool failed; default false.
 * @throws TypeError for a part that is none of these.
 */
export function toolParts(parts: readonly Part[], options: { readonly isError?: boolean } = {}): ToolParts {
  for (const part of parts) {
    const known = part.type === "text" ? typeof part.text === "string" : typeof part.fileId === "string";
    if (!known || !["text", "image", "pdf"].includes(part.type))
      throw new TypeError('a part is { type: "text", text }, { type: "image", fileId } or { type: "pdf", fileId }');
  }
  return Object.freeze({ [PARTS]: { parts: [...parts], isError: options.isError ?? false } });
}

export const isToolParts = (value: unknown): value is ToolParts =>
  typeof value === "object" && value !== null && PARTS in value;
export const partsOf = (value: ToolParts): ToolParts[typeof PARTS] => value[PARTS];
