// What the builtin tools are given, without an engine: files in memory.
import { BUILTINS } from "../../shared/authoring/builtins.ts";
import type { Json } from "../../shared/core/json.ts";
import { joinPages, textOf } from "../../shared/core/text-files.ts";
import type { ToolContext } from "../../shared/ports/agents.ts";

export type Content = string | Uint8Array;

/** A PDF, by its pages. */
export interface Pages {
  readonly pages: readonly string[];
}

/** Ids are f0, f1, … in the order given. */
export function attached(files: readonly (readonly [name: string, content: Content | Pages])[]): ToolContext {
  const contents = files.map(([name, content]) => {
    const pages = typeof content === "object" && "pages" in content ? content.pages : null;
    const bytes = content instanceof Uint8Array ? content : Buffer.from(typeof content === "string" ? content : "%PDF");
    return { name, bytes, pages };
  });
  return {
    signal: new AbortController().signal,
    files: {
      list: async () =>
        contents.map(({ name, bytes, pages }, i) => ({
          id: `f${i}`,
          name,
          mediaType: "text/plain",
          bytes: bytes.length,
          pages: pages?.length ?? null,
        })),
      text: async (id: string) => {
        const file = contents[Number(id.slice(1))];
        if (file === undefined) return null;
        return file.pages === null ? textOf(file.name, file.bytes) : joinPages(file.pages);
      },
    },
  } as unknown as ToolContext;
}

export async function call(name: string, args: Json, ctx: ToolContext): Promise<unknown> {
  const tool = BUILTINS.get(name);
  const parsed = tool?.parse(args);
  if (tool === undefined || parsed === undefined) throw new Error(`no builtin ${name}`);
  if (!parsed.ok) throw new Error(parsed.message);
  return tool.handler(parsed.args, ctx);
}
