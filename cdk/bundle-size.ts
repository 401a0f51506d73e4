// How much of a bundle is read before its handler can be called.
import type { Metafile } from "esbuild";

/** Bytes of an output and of what it imports at once. What it imports when it is used lies in files of its own. */
export function bytesAtOnce(outputs: Metafile["outputs"], path: string, seen: Set<string> = new Set()): number {
  if (seen.has(path)) return 0;
  seen.add(path);
  const output = outputs[path];
  const eager = (output?.imports ?? []).filter((i) => i.kind === "import-statement" && i.external !== true);
  return eager.reduce((bytes, i) => bytes + bytesAtOnce(outputs, i.path, seen), output?.bytes ?? 0);
}
