// A page of runs over several agents: ids of one page of each, merged, then the rows of those that are shown. Each agent has its own schema and indexes,
// so the cost is that of one page for each agent asked, side by side; an installation has tens of them.
import { TorenError } from "../../core/errors.ts";
import type { Json } from "../../core/json.ts";
import { LIST_NEWEST_RUNS } from "../../core/limits.ts";
import { NO_ATTRIBUTES, termsQuery } from "../../core/terms.ts";
import type { ListedRun, RunFilter, RunOutline, RunRow, RunStatus, RunStore, Spent } from "../../ports/store.ts";
import { restoreAll } from "./blobs.ts";
import type { Statements } from "./statements.ts";

interface Place {
  readonly agent: string;
  readonly runId: string;
  /** Of its creation, in microseconds since 1970. */
  readonly place: number;
}

export const createList =
  (statements: Statements): RunStore["list"] =>
  async (filter) => {
    // An agent that nobody ever deployed here has no schema to ask.
    const known = (await statements.ask<{ agent: string }>("list-agents", null, [])).map((row) => row.agent);
    const agents = known.filter((name) => filter.agents === undefined || filter.agents.includes(name));
    const cursor = filter.before === undefined ? null : decodeCursor(filter.before);
    const pages = await Promise.all(agents.map((agent) => placesOf(statements, agent, filter, cursor)));
    const merged = pages.flat().sort(newestFirst);
    const shown = merged.slice(0, filter.limit);
    const last = shown.at(-1);
    return {
      runs: await outlines(statements, shown),
      next: merged.length > filter.limit && last !== undefined ? encodeCursor(last) : null,
    };
  };

/** One more than the page holds: whether there is a next one. */
async function placesOf(
  statements: Statements,
  agent: string,
  filter: RunFilter,
  cursor: Pick<Place, "place" | "runId"> | null,
): Promise<Place[]> {
  const { process = null, since = null, until = null, statuses = null, text = "", attributes = NO_ATTRIBUTES } = filter;
  const values = [process, since, until, cursor?.place ?? null, cursor?.runId ?? null, filter.limit + 1];
  const ask: Ask = async (verb, more) => {
    const rows = await statements.ask<{ run_id: string; place: number }>(verb, agent, [...values, ...more]);
    return rows.map((row) => ({ agent, runId: row.run_id, place: row.place }));
  };
  const terms = termsQuery(text, attributes);
  if (text === "" && terms === null)
    return statuses === null ? ask("list-runs", []) : ask("list-runs-by-status", [statuses]);
  const ids = idsFrom(text);
  const [byTerms, byId] = await Promise.all([
    terms === null ? [] : withTerms(ask, statuses, terms, filter.limit + 1),
    ids === null ? [] : ask("list-runs-by-id", [statuses, ids.first, ids.last, termsQuery("", attributes)]),
  ]);
  const there = new Set(byTerms.map((found) => found.runId));
  return [...byTerms, ...byId.filter((found) => !there.has(found.runId))].sort(newestFirst).slice(0, filter.limit + 1);
}

type Ask = (verb: Parameters<Statements["ask"]>[0], more: readonly unknown[]) => Promise<Place[]>;

/** What many runs have is found among the newest; what few have, by the index of words. Neither reads and sorts a large part of all runs. */
async function withTerms(
  ask: Ask,
  statuses: RunFilter["statuses"] | null,
  terms: string,
  wanted: number,
): Promise<Place[]> {
  const newest = await ask("list-newest-by-terms", [statuses, terms, LIST_NEWEST_RUNS]);
  return newest.length >= wanted ? newest : await ask("list-runs-by-terms", [statuses, terms]);
}

const ID_DIGITS = 32;
const dashed = (hex: string): string => hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");

/** The ids that begin with a text; null: none can. */
function idsFrom(text: string): { readonly first: string; readonly last: string } | null {
  const hex = text.trim().toLowerCase().replaceAll("-", "");
  if (!/^[0-9a-f]{4,32}$/.test(hex)) return null;
  return { first: dashed(hex.padEnd(ID_DIGITS, "0")), last: dashed(hex.padEnd(ID_DIGITS, "f")) };
}

async function outlines(statements: Statements, places: readonly Place[]): Promise<ListedRun[]> {
  const byAgent = [...Map.groupBy(places, (place) => place.agent)];
  const found = await Promise.all(
    byAgent.map(async ([agent, some]) => {
      const rows = await statements.ask<OutlineRow & SpentRow>("read-outlines", agent, [
        some.map((place) => place.runId),
      ]);
      return Promise.all(
        rows.map(async (row) => ({ ...(await outline(statements, agent, row)), spent: spentOf(row) })),
      );
    }),
  );
  const byId = new Map(found.flat().map((run) => [run.runId, run]));
  return places.flatMap(({ runId }) => byId.get(runId) ?? []);
}

export interface SpentRow {
  readonly calls: number;
  readonly tokens: number;
  readonly nano: number;
  readonly unpriced: number;
  readonly simulated: boolean;
}
export const spentOf = ({ calls, tokens, nano, unpriced, simulated }: SpentRow): Spent => ({
  modelCalls: calls,
  tokens,
  nanoUsd: nano,
  unpriced,
  simulated,
});

export interface OutlineRow {
  readonly run_id: string;
  readonly process: string;
  readonly mode: RunRow["mode"];
  readonly status: RunStatus;
  readonly error: Json | null;
  readonly generation: number;
  readonly attributes: Record<string, string> | null;
  readonly parent: string | null;
  readonly created_at: number;
  readonly ended_at: number | null;
  readonly data_key: string | null;
}

/** Of a sealed run whose key isn't here all but the words of its error. */
export async function outline(statements: Statements, agent: string, row: OutlineRow): Promise<RunOutline> {
  statements.seals.know(row.run_id, row.data_key);
  const [error] = await restoreAll(statements, agent, [{ runId: row.run_id, value: row.error }], "say");
  return {
    agent,
    runId: row.run_id,
    process: row.process,
    mode: row.mode,
    status: row.status,
    error: (error ?? null) as RunRow["error"],
    generation: row.generation,
    attributes: row.attributes ?? NO_ATTRIBUTES,
    parent: row.parent,
    createdAt: row.created_at,
    endedAt: row.ended_at,
  };
}

const newestFirst = (a: Place, b: Place): number => b.place - a.place || (a.runId < b.runId ? 1 : -1);

const encodeCursor = ({ place, runId }: Place): string => `r1.${place.toString(36)}.${runId}`;
const CURSOR = /^r1\.([0-9a-z]{1,11})\.([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;
function decodeCursor(cursor: string): Pick<Place, "place" | "runId"> {
  const [, place, runId] = CURSOR.exec(cursor) ?? [];
  const micros = Number.parseInt(place ?? "", 36);
  if (runId === undefined || !Number.isSafeInteger(micros))
    throw new TorenError("request.invalid", "The cursor isn't one that a page of runs gave.");
  return { place: micros, runId };
}
