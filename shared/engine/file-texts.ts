// The files of a run as a tool's handler sees them. Text is kept for a while: a researcher reads the same documents at every step.
import { FILE_TEXTS_KEPT_CHARS } from "../core/limits.ts";
import { textOf } from "../core/text-files.ts";
import type { ToolContext } from "../ports/agents.ts";
import type { FileInfo } from "../ports/files.ts";
import type { EngineDeps } from "./deps.ts";

const texts = new Map<string, string>();
let cached = 0;

export function toolFiles(
  deps: Pick<EngineDeps, "files" | "store">,
  agent: string,
  runId: string,
): ToolContext["files"] {
  let listed: Promise<FileInfo[]> | undefined;
  const list = (): Promise<FileInfo[]> =>
    (listed ??= deps.store.runs.files(agent, runId).then((ids) => deps.files.list(ids)));
  return {
    list,
    text: async (id) => {
      const info = (await list()).find((f) => f.id === id); // only what is attached to this run
      if (info === undefined) return null;
      const known = texts.get(id);
      if (known !== undefined) return known;
      const text = info.pages === null ? await decoded(deps.files, info) : await deps.files.pageText(id);
      if (text === null) return null;
      remember(id, text);
      return text;
    },
  };
}

async function decoded(files: EngineDeps["files"], { id, name }: FileInfo): Promise<string | null> {
  const content = await files.content(id);
  return content === null ? null : textOf(name, content);
}

/** Oldest out first: Map keeps the order of insertion. Ids are by content, so an entry never goes stale. */
function remember(id: string, text: string): void {
  if (texts.has(id)) return; // several tasks read it at once: it is kept once, and counted once
  texts.set(id, text);
  cached += text.length;
  for (const [old, dropped] of texts) {
    if (cached <= FILE_TEXTS_KEPT_CHARS) return;
    texts.delete(old);
    cached -= dropped.length;
  }
}
