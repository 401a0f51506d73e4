// The description of the routes at /openapi.json. Bodies and parameters come from the schemas that the routes check with, so they can't differ.
import * as z from "zod";
import { ERRORS } from "../core/errors.ts";
import {
  EVENTS_WAIT_MAX_MS,
  FILE_MAX_BYTES,
  FILES_PAGE,
  FILES_PAGE_MAX,
  RUNS_PAGE,
  RUNS_PAGE_MAX,
  TURNS_PAGE,
  TURNS_PAGE_MAX,
} from "../core/limits.ts";
import { STATUS } from "./problems.ts";
import { RUN_STATUSES, run, runSummary, turnsPage } from "./run-json.ts";
import { cancellation, newRun } from "./runs.ts";
import { approval, message, resumption } from "./speak.ts";

type Schema = Readonly<Record<string, unknown>>;

const text: Schema = { type: "string" };
const time: Schema = { type: "string", format: "date-time" };
const count: Schema = { type: "integer", minimum: 0 };
const anything: Schema = {};
const nullable = (schema: Schema): Schema => ({ anyOf: [schema, { type: "null" }] });
const list = (items: Schema): Schema => ({ type: "array", items });
const ref = (name: string): Schema => ({ $ref: `#/components/schemas/${name}` });
/** All properties are always there, but for those named optional. */
const object = (properties: Readonly<Record<string, Schema>>, optional: readonly string[] = []): Schema => ({
  type: "object",
  properties,
  required: Object.keys(properties).filter((key) => !optional.includes(key)),
});
const schemaOf = (schema: z.ZodType, io: "input" | "output"): Schema => {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: "any" });
  return rest;
};
const body = (schema: z.ZodType): Schema => schemaOf(schema, "input");
const answer = (schema: z.ZodType): Schema => schemaOf(schema, "output");

const file = {
  id: text,
  name: text,
  mediaType: text,
  bytes: count,
  pages: { ...nullable(count), description: "Of a PDF." },
};

const schemas: Readonly<Record<string, Schema>> = {
  Problem: object(
    {
      type: { ...text, description: "urn:toren:error:<code>" },
      title: text,
      status: { type: "integer" },
      detail: { ...text, description: "What is wrong, and what to do." },
      code: { ...text, enum: Object.keys(ERRORS) },
      retryable: { type: "boolean", description: "The same request can succeed later." },
      errors: list(object({ path: text, message: text })),
    },
    ["errors"],
  ),
  RunStatus: { ...text, enum: RUN_STATUSES },
  RunSummary: answer(runSummary),
  Run: answer(run),
  TurnsPage: answer(turnsPage),
  Event: object(
    {
      stream: { ...text, description: "`run`, or `task:<taskId>`." },
      seq: { type: "integer", minimum: 1 },
      type: text,
      recordedAt: time,
      payload: { type: "object" },
      omitted: { ...list(text), description: "Fields left out for their size; ask with `full`." },
    },
    ["omitted"],
  ),
  EventsPage: object({
    events: list(ref("Event")),
    next: { ...text, description: "Pass it as `after`." },
    more: { type: "boolean", description: "More is there already: ask at once." },
    ended: { type: "boolean", description: "Nothing will follow." },
  }),
  File: object(file),
  ListedFile: object({ ...file, createdAt: time }),
  Agent: object({
    name: text,
    description: text,
    generation: count,
    processes: list(text),
    sessions: { ...list(text), description: "Those of the processes that are conversations." },
    roles: list(object({ name: text, model: text, tools: list(text), maxSteps: count })),
  }),
};

const json = (schema: Schema, description: string): Schema => ({
  description,
  content: { "application/json": { schema } },
});
const PROBLEMS: Schema = Object.fromEntries(
  [...new Set(Object.values(STATUS)), 500].sort().map((status) => [
    String(status),
    {
      description: `A problem (RFC 9457): ${codesOf(status)}`,
      content: { "application/problem+json": { schema: ref("Problem") } },
    },
  ]),
);
function codesOf(status: number): string {
  const codes = Object.entries(STATUS).flatMap(([code, s]) => (s === status ? [code] : []));
  return codes.length === 0 ? "bug" : codes.join(", ");
}

const parameter = (name: string, schema: Schema, description: string): Schema => ({
  name,
  in: "query",
  schema,
  description,
});
const runId: Schema = { name: "runId", in: "path", required: true, schema: text };
const responses = (ok: Readonly<Record<string, Schema>>): Schema => ({ ...PROBLEMS, ...ok });
const told: Schema = object({ runId: text });

const paths = {
  "/healthz": {
    get: {
      summary: "Whether the server answers; needs no key.",
      security: [],
      responses: { "200": json(object({ status: text }), "It does.") },
    },
  },
  "/openapi.json": {
    get: { summary: "This description.", responses: responses({ "200": json(anything, "OpenAPI 3.1.") }) },
  },
  "/agents": {
    get: {
      summary: "The agents that are served here.",
      responses: responses({ "200": json(object({ agents: list(ref("Agent")) }), "Agents.") }),
    },
  },
  "/files": {
    post: {
      summary: `Uploads one file of at most ${FILE_MAX_BYTES} bytes; the same file twice has one id.`,
      parameters: [parameter("name", text, "The file's name, where the body is the file itself.")],
      requestBody: {
        content: {
          "multipart/form-data": { schema: object({ file: { ...text, format: "binary" }, name: text }, ["name"]) },
          "application/octet-stream": { schema: { ...text, format: "binary" } },
        },
      },
      responses: responses({ "201": json(ref("File"), "The file.") }),
    },
    get: {
      summary: "Files, newest first.",
      parameters: [
        parameter("cursor", text, "The `next` of the page before."),
        parameter(
          "limit",
          { type: "integer", minimum: 1, maximum: FILES_PAGE_MAX, default: FILES_PAGE },
          "Files in a page.",
        ),
      ],
      responses: responses({
        "200": json(object({ files: list(ref("ListedFile")), next: nullable(text) }), "A page."),
      }),
    },
  },
  "/files/{fileId}": {
    delete: {
      summary: "Removes a file, unless a run that hasn't ended has it.",
      parameters: [{ name: "fileId", in: "path", required: true, schema: text }],
      responses: responses({ "200": json(object({ id: text }), "It is removed.") }),
    },
  },
  "/runs": {
    post: {
      summary: "Starts a run.",
      parameters: [
        {
          name: "Idempotency-Key",
          in: "header",
          schema: text,
          description: "The same request again under this key answers with the run of then.",
        },
      ],
      requestBody: { required: true, content: { "application/json": { schema: body(newRun) } } },
      responses: responses({
        "201": json(object({ runId: text, agent: text }), "Started; Location is the run."),
        "200": json(object({ runId: text, agent: text }), "The run that this key started before."),
      }),
    },
    get: {
      summary: "Runs, newest first.",
      parameters: [
        parameter("agent", text, "Only this agent's."),
        parameter("status", ref("RunStatus"), "Only in this status."),
        parameter("cursor", text, "The `next` of the page before."),
        parameter(
          "limit",
          { type: "integer", minimum: 1, maximum: RUNS_PAGE_MAX, default: RUNS_PAGE },
          "Runs in a page.",
        ),
      ],
      responses: responses({ "200": json(object({ runs: list(ref("RunSummary")), next: nullable(text) }), "A page.") }),
    },
  },
  "/runs/{runId}": {
    get: {
      summary: "A run: its tree of waves and tasks, usage, cost and receipt.",
      parameters: [runId],
      responses: responses({ "200": json(ref("Run"), "The run.") }),
    },
  },
  "/runs/{runId}/events": {
    get: {
      summary: "The run's event log, a page at a time; waits for what comes next if asked to.",
      parameters: [
        runId,
        parameter("stream", text, "Only this stream: `run`, or `task:<taskId>`. Then `after` is a seq."),
        parameter("after", text, "The `next` of the page before; left out: from the start."),
        parameter(
          "wait",
          { type: "number", minimum: 0, maximum: EVENTS_WAIT_MAX_MS / 1_000, default: 0 },
          "Seconds to wait for an event.",
        ),
        parameter("full", { type: "boolean", default: false }, "Large fields too."),
      ],
      responses: responses({ "200": json(ref("EventsPage"), "A page.") }),
    },
  },
  "/runs/{runId}/turns": {
    get: {
      summary: "What was said in a session, a page at a time from its end.",
      parameters: [
        runId,
        parameter("before", { type: "integer", minimum: 0 }, "The `next` of the page after; left out: the last turns."),
        parameter(
          "limit",
          { type: "integer", minimum: 1, maximum: TURNS_PAGE_MAX, default: TURNS_PAGE },
          "Turns in a page; fewer where they are long.",
        ),
      ],
      responses: responses({ "200": json(ref("TurnsPage"), "A page.") }),
    },
  },
  "/runs/{runId}/approvals": {
    post: {
      summary: "Allows a call that waits for a person, or denies it. The first decision holds.",
      parameters: [runId],
      requestBody: { required: true, content: { "application/json": { schema: body(approval) } } },
      responses: responses({ "202": json(told, "It is decided.") }),
    },
  },
  "/runs/{runId}/messages": {
    post: {
      summary: "Says something in a session, or closes it.",
      parameters: [
        runId,
        {
          name: "Idempotency-Key",
          in: "header",
          schema: text,
          description: "Under the same key nothing is said twice.",
        },
      ],
      requestBody: { required: true, content: { "application/json": { schema: body(message) } } },
      responses: responses({ "202": json(told, "It is recorded; the answer comes in the run's `turns`.") }),
    },
  },
  "/runs/{runId}/cancel": {
    post: {
      summary: "Asks a run to stop. Idempotent while it lives.",
      parameters: [runId],
      requestBody: { content: { "application/json": { schema: body(cancellation) } } },
      responses: responses({ "202": json(told, "It has been told.") }),
    },
  },
  "/runs/{runId}/resume": {
    post: {
      summary: "Decides about a cut that waits; without a decision, nudges a run that should be going on.",
      parameters: [runId],
      requestBody: { content: { "application/json": { schema: body(resumption) } } },
      responses: responses({ "202": json(told, "It is decided, or has been nudged.") }),
    },
  },
};

export const openApi = {
  openapi: "3.1.0",
  info: { title: "Toren", version: "1", description: "A durable runtime for AI agents." },
  // Relative to this document: right under a stage path too.
  servers: [{ url: "." }],
  security: [{ key: [] }],
  paths,
  components: {
    schemas,
    securitySchemes: { key: { type: "http", scheme: "bearer", description: "An API key, `toren_…`." } },
  },
};
