// Everything on record of a run, read whole over the API: what an edit is planned against.
import { restored } from "../../shared/adapters/store/values.ts";
import { TorenError } from "../../shared/core/errors.ts";
import { parseRunEvents, parseTaskEvents, type RawEvent } from "../../shared/core/events.ts";
import type { Json, JsonObject } from "../../shared/core/json.ts";
import { streamIdOf } from "../../shared/core/stream-id.ts";
import type { RunRecord, TaskRecord } from "../../shared/engine/plan-edit.ts";
import type { Api } from "./api.ts";

interface Row {
  readonly table: string;
  readonly row: JsonObject;
}

/** @throws TorenError `generation.older` when the run was written by a newer version of Toren. */
export async function readRecord(api: Api, runId: string): Promise<RunRecord> {
  const tables = Map.groupBy(await rowsOf(api, runId), ({ table }) => table);
  const of = (table: string): JsonObject[] => (tables.get(table) ?? []).map(({ row }) => row);
  const blobs = new Map<string, string>();
  for (const { hash, text } of of("blobs")) blobs.set(String(hash), `${blobs.get(String(hash)) ?? ""}${text}`);
  const values = new Map([...blobs].map(([hash, text]) => [hash, JSON.parse(text) as Json]));
  const streams = Map.groupBy(of("events"), (row) => String(row.stream_id));
  const raw = (streamId: string): RawEvent[] =>
    (streams.get(streamId) ?? []).map((row) => ({
      seq: Number(row.seq),
      type: String(row.type),
      payload: restored(row.payload ?? {}, values) as RawEvent["payload"],
      recordedAt: Date.parse(String(row.recorded_at)),
    }));
  const tasks = of("task_specs").map((row): [string, TaskRecord] => {
    const parsed = parseTaskEvents(raw(streamIdOf(String(row.task_id))));
    if (!parsed.ok) throw newer(runId, parsed.type);
    const input = restored(row.input ?? null, values);
    return [String(row.task_id), { role: String(row.role), input, digest: String(row.digest), log: parsed.events }];
  });
  const log = parseRunEvents(raw("run"));
  if (!log.ok) throw newer(runId, log.type);
  return { runId, log: log.events, tasks: new Map(tasks) };
}

async function rowsOf(api: Api, runId: string): Promise<Row[]> {
  const rows: Row[] = [];
  for (let after: string | null = null; ; ) {
    const page: Awaited<ReturnType<Api["export"]>> = await api.export(runId, after);
    rows.push(...page.lines.map((line) => JSON.parse(line) as Row));
    if (page.next === null) return rows;
    after = page.next;
  }
}

const newer = (runId: string, type: string): TorenError =>
  new TorenError("generation.older", `Run ${runId} was written by a newer version of Toren (${type}).`);
