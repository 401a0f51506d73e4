// The calls that a worker has under way, as far as they have said something. All of it is kept, within a bound, so that whoever comes later sees it from
// its beginning; nothing goes anywhere by itself.
import { LIVE_CALL_CHARS, LIVE_PIECE_CHARS } from "../../core/limits.ts";
import type { LivePiece } from "../../ports/live.ts";
import type { Delta } from "../../ports/model.ts";

const KINDS = ["reasoning", "text"] as const;
type Kind = (typeof KINDS)[number];
interface Said {
  all: string;
  sent: number;
}

export interface ShownCall {
  readonly runId: string;
  take(delta: Delta): void;
  /** What hasn't been taken from here yet, in pieces, `most` at most. */
  pieces(most: number): LivePiece[];
  /** There is more to take. */
  readonly due: boolean;
  /** All of it is to be taken again. */
  rewind(): void;
}

export function createShownCall(runId: string, of: Pick<LivePiece, "stream" | "stepId" | "call">): ShownCall {
  let attempt = 0;
  let restarted = false;
  const fresh = (): Record<Kind, Said> => ({ reasoning: { all: "", sent: 0 }, text: { all: "", sent: 0 } });
  let said = fresh();
  return {
    runId,
    take: (delta) => {
      if (delta.type === "restart") {
        attempt++;
        restarted = true;
        said = fresh();
        return;
      }
      const so = said[delta.type];
      if (so.all.length < LIVE_CALL_CHARS) so.all += delta.text.slice(0, LIVE_CALL_CHARS - so.all.length);
    },
    pieces: (most) => {
      const pieces: LivePiece[] = [];
      const piece = (type: LivePiece["type"], at: number, text: string): void =>
        void pieces.push({ ...of, attempt, type, at, text });
      if (restarted) piece("restart", 0, "");
      restarted = false;
      for (const kind of KINDS)
        for (const so = said[kind]; so.sent < so.all.length && pieces.length < most; ) {
          const text = so.all.slice(so.sent, so.sent + LIVE_PIECE_CHARS);
          piece(kind, so.sent, text);
          so.sent += text.length;
        }
      return pieces;
    },
    get due() {
      return restarted || KINDS.some((kind) => said[kind].sent < said[kind].all.length);
    },
    rewind: () => {
      for (const kind of KINDS) said[kind].sent = 0;
    },
  };
}
