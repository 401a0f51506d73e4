// The id of a child run: made of its parent's id and the place of the operation that starts it, so that whoever starts it again, after a death or a lost
// acknowledgement, starts the same one. A fork has an id of its own, and so have its children.
import { createHash } from "node:crypto";
import { beginningOf, type RunLog } from "./fold.ts";

/** A UUID of version 8 (RFC 9562: its bits are the maker's). `seq`: of the event that starts the child. */
export function childRunId(parent: string, seq: number): string {
  const hex = createHash("sha256").update(`child ${parent} ${seq}`).digest("hex");
  return [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`, `a${hex.slice(17, 20)}`, hex.slice(20, 32)].join(
    "-",
  );
}

/** How many runs stand above the run whose log it is. */
export const depthOf = (log: RunLog): number => beginningOf(log).parent?.depth ?? 0;
