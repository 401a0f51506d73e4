// By which notifications watchers and workers hear of each other, and their forms.
import type { LivePiece } from "../../ports/live.ts";
import type { DataKey } from "../../ports/sealer.ts";

/** Workers listen here for who watches what: `<run>`, or `<run> new` from who has seen nothing yet. */
export const WATCHED = "toren_watched";

/** Watchers of one run listen here. */
export const piecesOf = (runId: string): string => `toren_live_${runId.toLowerCase().replaceAll(/[^0-9a-f]/g, "")}`;

/** The run's log has grown: said where pieces are. */
export const GREW = "grew";

/** Where runs are sealed its text is too, with a key of the worker's that travels with it, wrapped. */
export const writePiece = (piece: LivePiece, key: DataKey | null): string =>
  JSON.stringify(key === null ? piece : { ...piece, text: sealedText(piece.text, key), key: key.wrapped });

const PLACE = "live";
/** By its UTF-16 units: halves of characters come through, and a piece is never longer than its limit says. */
const sealedText = (text: string, key: DataKey): string =>
  Buffer.from(key.sealBytes(PLACE, Buffer.from(text, "utf16le"))).toString("base64");
export const openPiece = (piece: LivePiece, key: DataKey): LivePiece => ({
  ...piece,
  text: Buffer.from(key.openBytes(PLACE, Buffer.from(piece.text, "base64"))).toString("utf16le"),
});

/** `key`: what its text is sealed with, wrapped. Null: of another version. */
export function readPiece(payload: string): { readonly piece: LivePiece; readonly key: string | null } | null {
  try {
    const { stream, stepId, call, attempt, type, at, text, key } = JSON.parse(payload) as Record<string, unknown>;
    if (typeof stream !== "string" || typeof stepId !== "string" || typeof text !== "string") return null;
    if (typeof call !== "number" || typeof attempt !== "number" || typeof at !== "number") return null;
    if (type !== "text" && type !== "reasoning" && type !== "restart") return null;
    return { piece: { stream, stepId, call, attempt, type, at, text }, key: typeof key === "string" ? key : null };
  } catch {
    return null;
  }
}
