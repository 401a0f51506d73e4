// Where a reader of a run's events is. Over one stream it is a seq. Over several it holds a head per stream: streams have no common order, and a time
// isn't one either (a commit may become visible after a later time was read).
import { EVENTS_CURSOR_CHARS, EVENTS_CURSOR_TASKS_MAX } from "../core/limits.ts";
import { BadRequest } from "./problems.ts";

/** Seq read so far, by stream id. A stream that isn't there was never read. */
export type Heads = ReadonlyMap<string, number>;

const VERSION = "e1";
const TASK = /^task:w(\d+)t(\d+)$/;

/**
 * `e1.<run>.<wave>-<heads>.<wave>-<heads>…`: numbers in base 36, the heads of a wave's tasks in order, `n*h` for n equal ones in a row.
 * A wave of a thousand tasks is some 2 KB at worst, 10 bytes when all are equally far.
 */
export function encodeCursor(heads: Heads): string {
  const waves = new Map<number, number[]>();
  for (const [stream, head] of heads) {
    const task = TASK.exec(stream);
    if (task === null) continue;
    const wave = Number(task[1]);
    const row = waves.get(wave) ?? [];
    row[Number(task[2])] = head;
    waves.set(wave, row);
  }
  const parts = [...waves].sort(([a], [b]) => a - b).map(([wave, row]) => `${wave.toString(36)}-${encodeRow(row)}`);
  return [VERSION, (heads.get("run") ?? 0).toString(36), ...parts].join(".");
}

function encodeRow(row: readonly number[]): string {
  const texts: string[] = [];
  for (let i = 0; i < row.length; ) {
    const head = row[i] ?? 0;
    let end = i + 1;
    while (end < row.length && (row[end] ?? 0) === head) end++;
    texts.push(end - i === 1 ? head.toString(36) : `${(end - i).toString(36)}*${head.toString(36)}`);
    i = end;
  }
  return texts.join("_");
}

const wrong = (): BadRequest =>
  new BadRequest("`after` isn't a cursor of this route. Pass the `next` of the page before, or leave it out.", [
    { path: "after", message: "not a cursor" },
  ]);

/** @throws BadRequest for whatever `encodeCursor` doesn't write. */
export function decodeCursor(text: string): Map<string, number> {
  const heads = new Map<string, number>();
  if (text === "" || text === "0") return heads;
  if (text.length > 4 * EVENTS_CURSOR_CHARS) throw wrong();
  const [version, run, ...waves] = text.split(".");
  if (version !== VERSION || run === undefined) throw wrong();
  heads.set("run", number(run));
  for (const wave of waves) {
    const [name, row, more] = wave.split("-");
    if (name === undefined || row === undefined || more !== undefined) throw wrong();
    for (const [task, head] of decodeRow(row).entries()) heads.set(`task:w${number(name)}t${task}`, head);
  }
  return heads;
}

function decodeRow(text: string): number[] {
  const row: number[] = [];
  for (const item of text.split("_")) {
    const [a, b, more] = item.split("*");
    if (more !== undefined) throw wrong();
    const times = b === undefined ? 1 : number(a ?? "");
    if (row.length + times > EVENTS_CURSOR_TASKS_MAX) throw wrong();
    for (let i = 0; i < times; i++) row.push(number(b ?? a ?? ""));
  }
  return row;
}

function number(text: string): number {
  const value = /^[0-9a-z]{1,10}$/.test(text) ? Number.parseInt(text, 36) : Number.NaN;
  if (!Number.isSafeInteger(value)) throw wrong();
  return value;
}

/** The cursor of a reader of one stream. */
export function decodeSeq(text: string): number {
  if (text === "") return 0;
  if (!/^\d{1,15}$/.test(text)) {
    throw new BadRequest("`after` is a stream's seq when `stream` is given: a whole number.", [
      { path: "after", message: "not a seq" },
    ]);
  }
  return Number(text);
}
