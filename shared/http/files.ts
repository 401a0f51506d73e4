// POST /files: one file, as multipart/form-data (field `file`), as it is with `?name=`, or from where POST /uploads has had it put. GET /files lists
// them, DELETE /files/:id removes one.
import * as z from "zod";
import { TorenError } from "../core/errors.ts";
import { FILE_MAX_BYTES, FILES_PAGE, FILES_PAGE_MAX, FORM_OVERHEAD_BYTES, REQUEST_BODY_BYTES } from "../core/limits.ts";
import type { FileInfo, Upload as Place } from "../ports/files.ts";
import { check, readBytes, readJson, tooLarge } from "./body.ts";
import type { HttpContext, HttpDeps } from "./deps.ts";
import { BadRequest } from "./problems.ts";
import { readQuery } from "./query.ts";

const DEFAULT_TYPE = "application/octet-stream";

/**
 * A label that tools may one day use as a path: relative, forward, without a way out. It may have folders.
 * Refused here and not mended: a name that was changed in silence would not be the one the user asks for.
 */
export const fileName = z
  .string()
  .min(1)
  .max(255)
  .refine((text) => text.isWellFormed(), "must be well-formed text")
  .refine((text) => !/[\p{Cc}\\]/u.test(text), "must have no control characters and no backslash")
  .refine((text) => !/^[a-zA-Z]:/.test(text) && text.split("/").every((part) => !["", ".", ".."].includes(part)), {
    message: "must be a relative name: no leading or doubled `/`, no `.` or `..` as a part",
  });

const count = z.int().nonnegative();
export const fileOut: z.ZodType<FileInfo> = z.object({
  id: z.string(),
  name: z.string(),
  mediaType: z.string(),
  bytes: count,
  pages: count.nullable().meta({ description: "Of a PDF." }),
});
const listedFile = z.intersection(fileOut, z.object({ createdAt: z.string().meta({ format: "date-time" }) }));
export const filesPage = z.object({ files: z.array(listedFile), next: z.string().nullable() });
export const uploadQuery = z.strictObject({
  name: fileName.optional().meta({ description: "The file's name, where the body is the file itself." }),
  upload: z
    .string()
    .max(100)
    .optional()
    .meta({ description: "Of POST /uploads: the file was put there, and the body is empty." }),
});

export async function addFile(c: HttpContext, deps: HttpDeps): Promise<Response> {
  const placed = c.req.query("upload");
  const name = (given: string | undefined): string => check(given, fileName, "The file's name is wrong", "name");
  if (placed !== undefined) return await addPlaced(c, deps, placed, name(c.req.query("name")));
  const upload = isForm(c.req.raw) ? await fromForm(c.req.raw) : await fromBody(c);
  const file = { name: name(upload.name), mediaType: upload.mediaType, content: upload.content };
  return c.json(await deps.useCases.addFile(file), 201);
}

/** What is taken in, or refused for what it is, is no longer needed where it was put. An outage leaves it: the same request may come again. */
async function addPlaced(c: HttpContext, { files, useCases }: HttpDeps, id: string, name: string): Promise<Response> {
  const content = (await files.uploads?.read(id)) ?? null;
  if (content === null)
    throw new TorenError("not_found", `Nothing was put at the upload "${id}", or it is more than a day ago.`);
  const mediaType = c.req.header("content-type") ?? DEFAULT_TYPE;
  try {
    const info = await useCases.addFile({ name, mediaType, content });
    await files.uploads?.drop(id);
    return c.json(info, 201);
  } catch (e) {
    if (e instanceof TorenError && e.code === "file.unreadable") await files.uploads?.drop(id);
    throw e;
  }
}

export const uploadBody = z.strictObject({
  bytes: z.int().min(1).max(FILE_MAX_BYTES).meta({ description: "Of the file, exactly." }),
});
export const uploadOut: z.ZodType<Place | null> = z
  .object({
    id: z.string(),
    url: z.string().meta({ description: "Takes a PUT of the file, without the API's key." }),
    expiresInMs: count,
  })
  .nullable()
  .meta({ description: "Null: the server takes files of every size by POST /files." });

export async function beginUpload(c: HttpContext, deps: HttpDeps): Promise<Response> {
  const { bytes } = await readJson(c.req.raw, REQUEST_BODY_BYTES, uploadBody);
  return c.json({ upload: (await deps.files.uploads?.begin(bytes)) ?? null });
}

export const filesQuery = z.strictObject({
  cursor: z.string().min(1).max(500).optional().meta({ description: "The `next` of the page before." }),
  limit: z.coerce
    .number()
    .int()
    .min(1)
    .max(FILES_PAGE_MAX)
    .default(FILES_PAGE)
    .meta({ description: "Files in a page." }),
});

export async function listFiles(c: HttpContext, deps: HttpDeps): Promise<Response> {
  const { limit, cursor } = readQuery(c, filesQuery);
  const page = await deps.files.page({ limit, ...(cursor === undefined ? {} : { before: cursor }) });
  const files = page.files.map(({ createdAt, ...info }) => ({ ...info, createdAt: new Date(createdAt).toISOString() }));
  return c.json({ files, next: page.next });
}

export async function removeFile(c: HttpContext, deps: HttpDeps): Promise<Response> {
  const id = c.req.param("fileId") ?? "";
  const removed = await deps.files.remove(id);
  if (removed.type === "unknown")
    throw new TorenError(
      "not_found",
      `No file has the id "${id}"; \`toren files list\` and GET /files show those that are there.`,
    );
  if (removed.type === "attached") {
    const { agent, runId } = removed;
    throw new TorenError(
      "file.attached",
      `The run ${runId} of agent ${agent} has this file and hasn't ended. Nothing was removed.`,
    );
  }
  return c.json({ id });
}

interface Upload {
  readonly name: string | undefined;
  readonly mediaType: string;
  readonly content: Uint8Array;
}

const isForm = (request: Request): boolean =>
  (request.headers.get("content-type") ?? "").toLowerCase().startsWith("multipart/form-data");

async function fromBody(c: HttpContext): Promise<Upload> {
  const content = await readBytes(c.req.raw, FILE_MAX_BYTES);
  return { name: c.req.query("name"), mediaType: c.req.header("content-type") ?? DEFAULT_TYPE, content };
}

async function fromForm(request: Request): Promise<Upload> {
  const bytes = await readBytes(request, FILE_MAX_BYTES + FORM_OVERHEAD_BYTES);
  const headers = { "content-type": request.headers.get("content-type") ?? "" };
  let form: FormData;
  try {
    form = await new Response(bytes, { headers }).formData();
  } catch {
    throw new BadRequest("The form can't be read.", [{ path: "$", message: "not multipart/form-data" }]);
  }
  const files = [...form.values()].filter((value): value is File => typeof value !== "string");
  const [file] = files;
  if (file === undefined || files.length > 1) {
    throw new BadRequest(`The form holds ${files.length} files; one is expected.`, [
      { path: "file", message: "exactly one file" },
    ]);
  }
  const content = new Uint8Array(await file.arrayBuffer());
  if (content.byteLength > FILE_MAX_BYTES) throw tooLarge(FILE_MAX_BYTES);
  const named = form.get("name");
  return { name: typeof named === "string" ? named : file.name, mediaType: file.type || DEFAULT_TYPE, content };
}
