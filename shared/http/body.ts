// Reading a request's body: within a bound, as UTF-8, as JSON, and held against a schema; every refusal names the place.
import type * as z from "zod";
import { TorenError } from "../core/errors.ts";
import { issueWords } from "../core/issue-words.ts";
import { BadRequest, type Place } from "./problems.ts";

export const tooLarge = (maxBytes: number): TorenError =>
  new TorenError("request.too_large", `The body is larger than the limit of ${maxBytes} bytes.`);

/** The body's bytes; stops reading as soon as there are more than `maxBytes`, whatever Content-Length says. */
export async function readBytes(request: Request, maxBytes: number): Promise<Uint8Array<ArrayBuffer>> {
  if (Number(request.headers.get("content-length") ?? 0) > maxBytes) throw tooLarge(maxBytes);
  if (request.body === null) return new Uint8Array(0);
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  const reader = request.body.getReader();
  for (;;) {
    const { done, value } = await reader.read().catch(() => {
      throw new BadRequest("The body broke off before it was whole.", [{ path: "$", message: "broke off" }]);
    });
    if (done) break;
    bytes += value.byteLength;
    if (bytes > maxBytes) {
      await reader.cancel();
      throw tooLarge(maxBytes);
    }
    chunks.push(value);
  }
  const whole = new Uint8Array(bytes);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.byteLength;
  }
  return whole;
}

/** The body as JSON of the schema. An empty one is read as `whenEmpty`, where that is given. */
export async function readJson<T>(
  request: Request,
  maxBytes: number,
  schema: z.ZodType<T>,
  whenEmpty?: unknown,
): Promise<T> {
  const bytes = await readBytes(request, maxBytes);
  const value = bytes.byteLength === 0 && whenEmpty !== undefined ? whenEmpty : parseJson(decode(bytes));
  return check(value, schema, "The body isn't what this route takes");
}

function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new BadRequest("The body isn't UTF-8 text.", [{ path: "$", message: "not UTF-8" }]);
  }
}

function parseJson(text: string): unknown {
  if (text.trim() === "")
    throw new BadRequest("The body is empty; JSON is expected.", [{ path: "$", message: "empty" }]);
  try {
    return JSON.parse(text);
  } catch (e) {
    const message = e instanceof Error ? e.message : String(e);
    const at = /position (\d+)/.exec(message)?.[1];
    const place = at === undefined ? "its end" : lineAndColumn(text, Number(at));
    throw new BadRequest(`The body isn't JSON: wrong at ${place}.`, [{ path: "$", message }]);
  }
}

function lineAndColumn(text: string, position: number): string {
  const before = text.slice(0, position).split("\n");
  return `line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}`;
}

/** Holds a value against a schema. `what` begins the message. */
export function check<T>(value: unknown, schema: z.ZodType<T>, what: string, root = "$"): T {
  const parsed = schema.safeParse(value, { error: issueWords });
  if (parsed.success) {
    const lost = lostKey(value, parsed.data);
    if (lost === null) return parsed.data;
    const place = { path: pathOf(lost, root), message: "can't be a name" };
    throw new BadRequest(`${what}: ${place.path} ${place.message}.`, [place]);
  }
  const places = parsed.error.issues.flatMap((issue): Place[] =>
    issue.code === "unrecognized_keys"
      ? issue.keys.map((key) => ({ path: pathOf([...issue.path, key], root), message: "is not known here" }))
      : [{ path: pathOf(issue.path, root), message: issue.message }],
  );
  throw new BadRequest(`${what}: ${places.map((p) => `${p.path} ${p.message}`).join("; ")}.`, places);
}

const PROTO = "__proto__";

/** Where a key `__proto__` was passed over: schemas of records leave it out in silence. What comes through as it is, as a run's input, may have it. */
function lostKey(value: unknown, data: unknown): PropertyKey[] | null {
  const left: { value: unknown; data: unknown; path: PropertyKey[] }[] = [{ value, data, path: [] }];
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    const { value, data, path } = next;
    if (value === data || typeof value !== "object" || value === null || typeof data !== "object" || data === null)
      continue;
    if (Object.hasOwn(value, PROTO) && !Object.hasOwn(data, PROTO)) return [...path, PROTO];
    for (const [key, part] of Object.entries(value))
      if (Object.hasOwn(data, key))
        left.push({ value: part, data: (data as Record<string, unknown>)[key], path: [...path, key] });
  }
  return null;
}

function pathOf(path: readonly PropertyKey[], root: string): string {
  const text = path.reduce<string>(
    (before, part) => (typeof part === "number" ? `${before}[${part}]` : `${before}.${String(part)}`),
    root,
  );
  return text.startsWith(".") ? text.slice(1) : text;
}
