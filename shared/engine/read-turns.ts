// What was said in a session, a page at a time from its end: a conversation of months is never read whole.
import type { ErrorInfo } from "../core/errors.ts";
import { type Json, utf8Bytes } from "../core/json.ts";
import { TURNS_PAGE_BYTES } from "../core/limits.ts";
import type { RunRow, SaidTurn } from "../ports/store.ts";
import type { EngineDeps } from "./deps.ts";

export type Turn = SaidTurn;
export interface TurnsPage {
  /** In the order in which they were said. A session begins with its input, under the seq 0. */
  readonly turns: readonly Turn[];
  /** `before` of the page that stands before this one; null: this one begins with the input. */
  readonly next: number | null;
  /** Of all turns of the session, its input among them. */
  readonly count: number;
}
export type ReadTurns =
  | { readonly type: "turns"; readonly page: TurnsPage }
  | { readonly type: "refused"; readonly error: ErrorInfo };

type ReadDeps = Pick<EngineDeps, "store">;
interface Page {
  /** Only what was said before this seq; null: the last turns. */
  readonly before: number | null;
  readonly limit: number;
}

export async function readTurns(
  deps: ReadDeps,
  { agent, runId, ...page }: Page & { readonly agent: string; readonly runId: string },
): Promise<ReadTurns> {
  const run = await deps.store.runs.get(agent, runId);
  if (run === null) return refused("run.unknown", `There is no run ${runId}.`);
  if (run.mode !== "session") return refused("run.not_a_session", `Run ${runId} is no session: nothing is said in it.`);
  return { type: "turns", page: await turnsOf(deps, run, page) };
}

const refused = (code: ErrorInfo["code"], message: string): ReadTurns => ({
  type: "refused",
  error: { code, message },
});

export async function turnsOf({ store }: ReadDeps, run: RunRow, { before, limit }: Page): Promise<TurnsPage> {
  const { turns: said, count } = await store.tasks.turns(run.agent, run.runId, { before, limit });
  const whole = said.length < limit; // there is room for the input, which no event of the conversation holds
  const input: Turn = { seq: 0, by: "user", text: textOf(run.input), at: run.createdAt };
  const page = whole && (before === null || before > 0) ? [...said, input] : [...said];
  const kept = page.slice(0, fitting(page));
  const next = whole && kept.length === page.length ? null : (kept.at(-1)?.seq ?? null);
  return { turns: kept.reverse(), next, count: count + 1 };
}

/** How many of them, newest first, make a page: at least one, however long it is. */
function fitting(turns: readonly Turn[]): number {
  let bytes = 0;
  const tooFar = turns.findIndex((turn, i) => {
    bytes += utf8Bytes(turn.text);
    return bytes > TURNS_PAGE_BYTES && i > 0;
  });
  return tooFar === -1 ? turns.length : tooFar;
}

const textOf = (input: Json): string => (typeof input === "string" ? input : JSON.stringify(input));
