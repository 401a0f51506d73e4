// Routes of dead letters: look, send again, drop. Nothing of a run is in them; they tell that something kept failing.
import * as z from "zod";
import { TorenError } from "../core/errors.ts";
import { DEAD_LETTERS_PAGE, DEAD_LETTERS_PAGE_MAX } from "../core/limits.ts";
import { unknownLetter } from "../engine/dead-letters.ts";
import type { KeptLetter } from "../ports/queue.ts";
import { actorOf } from "./access.ts";
import type { HttpContext, HttpDeps } from "./deps.ts";
import { readQuery } from "./query.ts";

export const deadLettersQuery = z.strictObject({
  cursor: z.string().min(1).max(500).optional().meta({ description: "The `next` of the page before." }),
  limit: z.coerce
    .number()
    .int()
    .min(1)
    .max(DEAD_LETTERS_PAGE_MAX)
    .default(DEAD_LETTERS_PAGE)
    .meta({ description: "Dead letters in a page." }),
});

export const deadLetter = z.object({
  id: z.string(),
  queue: z.string(),
  body: z.unknown().meta({
    description: "The message: `agent`, `runId`, and `taskId`, null for a tick of the run. Text, where it wasn't JSON.",
  }),
  receiveCount: z.int().nonnegative(),
  recordedAt: z.iso.datetime(),
});
export const deadLettersPage = z.object({ deadLetters: z.array(deadLetter), next: z.string().nullable() });
export type DeadLetterJson = Omit<z.infer<typeof deadLetter>, "body"> & { readonly body: KeptLetter["body"] };

const letterJson = ({ messageId, recordedAt, ...letter }: KeptLetter): DeadLetterJson => ({
  id: messageId,
  ...letter,
  recordedAt: new Date(recordedAt).toISOString(),
});

export async function listDeadLetters(c: HttpContext, deps: HttpDeps): Promise<Response> {
  const { cursor = null, limit } = readQuery(c, deadLettersQuery);
  const { letters, next } = await deps.deadLetters.page(cursor, limit);
  return c.json({ deadLetters: letters.map(letterJson), next });
}

export async function getDeadLetter(c: HttpContext, deps: HttpDeps): Promise<Response> {
  const id = idOf(c);
  const letter = await deps.deadLetters.get(id);
  if (letter === null) throw unknown(id);
  return c.json(letterJson(letter));
}

export async function sendDeadLetter(c: HttpContext, deps: HttpDeps): Promise<Response> {
  const id = idOf(c);
  const told = await deps.useCases.sendDeadLetter(id);
  if (told.type === "refused") throw new TorenError(told.error.code, told.error.message);
  await deps.audit.note({ ...actorOf(c), agent: null, runId: null, action: "deadLetter.sent", subject: id });
  return c.json({ id }, 202);
}

export async function dropDeadLetter(c: HttpContext, deps: HttpDeps): Promise<Response> {
  const id = idOf(c);
  if (!(await deps.deadLetters.drop(id))) throw unknown(id);
  await deps.audit.note({ ...actorOf(c), agent: null, runId: null, action: "deadLetter.dropped", subject: id });
  return c.json({ id });
}

/** Whatever Postgres wouldn't take as text is no message's id. */
function idOf(c: HttpContext): string {
  const id = c.req.param("id") ?? "";
  if (id.includes("\0") || !id.isWellFormed()) throw unknown(id);
  return id;
}

function unknown(id: string): TorenError {
  const { error } = unknownLetter(id);
  return new TorenError(error.code, error.message);
}
