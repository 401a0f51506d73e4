import { createParts } from "../shared/engine/parts.ts";

/** What was opened last is closed first; one that fails doesn't keep the others open. @throws what failed first. */
export async function closeAll(opened: (() => Promise<void>)[]): Promise<void> {
  const parts = createParts();
  for (const close of opened.splice(0).toReversed()) await parts.done(close);
  parts.check();
}
