// By which notifications watchers and workers hear of each other, and their forms.
import type { LivePiece } from "../../ports/live.ts";

/** Workers listen here for who watches what: `<run>`, or `<run> new` from who has seen nothing yet. */
export const WATCHED = "toren_watched";

/** Watchers of one run listen here. */
export const piecesOf = (runId: string): string => `toren_live_${runId.toLowerCase().replaceAll(/[^0-9a-f]/g, "")}`;

/** The run's log has grown: said where pieces are. */
export const GREW = "grew";

export const writePiece = (piece: LivePiece): string => JSON.stringify(piece);

/** Null: of another version. */
export function readPiece(payload: string): LivePiece | null {
  try {
    const { stream, stepId, call, attempt, type, at, text } = JSON.parse(payload) as Record<string, unknown>;
    if (typeof stream !== "string" || typeof stepId !== "string" || typeof text !== "string") return null;
    if (typeof call !== "number" || typeof attempt !== "number" || typeof at !== "number") return null;
    if (type !== "text" && type !== "reasoning" && type !== "restart") return null;
    return { stream, stepId, call, attempt, type, at, text };
  } catch {
    return null;
  }
}
