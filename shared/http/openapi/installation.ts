// What belongs to the installation and not to a run: health, this description, agents, files.
import * as z from "zod";
import { FILE_MAX_BYTES } from "../../core/limits.ts";
import { agentsList } from "../agents.ts";
import { deadLettersPage, deadLettersQuery } from "../dead-letters.ts";
import { pruned, pruning } from "../erase.ts";
import { filesPage, filesQuery, uploadBody, uploadOut, uploadQuery } from "../files.ts";
import { answer, anything, inPath, itsId, json, query, ref, responses, takes, text } from "./parts.ts";

export const installationPaths = {
  "/healthz": {
    get: {
      summary: "Whether the server answers; needs no key.",
      security: [],
      responses: { "200": json(answer(z.object({ status: z.literal("ok") })), "It does.") },
    },
  },
  "/openapi.json": {
    get: {
      summary: "This description; needs no key.",
      security: [],
      responses: { "200": json(anything, "OpenAPI 3.1.") },
    },
  },
  "/agents": {
    get: {
      summary: "The agents that are served here.",
      responses: responses({ "200": json(answer(agentsList), "Agents.") }),
    },
  },
  "/overview": {
    get: {
      summary: "What to look at first: counts, runs that wait for a person, stuck work, failures, what today cost.",
      responses: responses({ "200": json(ref("Overview"), "As it is now.") }),
    },
  },
  "/metrics": {
    get: {
      summary: "What there is to count, as Prometheus reads it.",
      responses: responses({
        "200": { description: "Text, version 0.0.4.", content: { "text/plain": { schema: text } } },
      }),
    },
  },
  "/prune": {
    post: {
      summary: "Forgets a batch of an agent's runs that ended long ago.",
      requestBody: takes(pruning),
      responses: responses({
        "200": json(answer(pruned), "How many."),
      }),
    },
  },
  "/dead-letters": {
    get: {
      summary: "Messages that nobody could work on, newest first. Their runs are unharmed.",
      parameters: query(deadLettersQuery),
      responses: responses({
        "200": json(answer(deadLettersPage), "A page."),
      }),
    },
  },
  "/dead-letters/{id}": {
    get: {
      summary: "One of them.",
      parameters: [inPath("id")],
      responses: responses({ "200": json(ref("DeadLetter"), "The dead letter.") }),
    },
    delete: {
      summary: "Forgets it.",
      parameters: [inPath("id")],
      responses: responses({ "200": json(answer(itsId), "It is dropped.") }),
    },
  },
  "/dead-letters/{id}/send": {
    post: {
      summary: "Sends its hint to its queue again, and forgets it.",
      parameters: [inPath("id")],
      responses: responses({ "202": json(answer(itsId), "It is sent.") }),
    },
  },
  "/files": {
    post: {
      summary: `Uploads one file of at most ${FILE_MAX_BYTES} bytes; the same file twice has one id.`,
      parameters: query(uploadQuery),
      requestBody: {
        content: {
          "multipart/form-data": {
            schema: {
              type: "object",
              properties: { file: { ...text, format: "binary" }, name: text },
              required: ["file"],
            },
          },
          "application/octet-stream": { schema: { ...text, format: "binary" } },
        },
      },
      responses: responses({ "201": json(ref("File"), "The file.") }),
    },
    get: {
      summary: "Files, newest first.",
      parameters: query(filesQuery),
      responses: responses({
        "200": json(answer(filesPage), "A page."),
      }),
    },
  },
  "/uploads": {
    post: {
      summary:
        "A place for a file that is too large for a request, where the server has such limits: PUT it there, then POST /files names it.",
      requestBody: takes(uploadBody),
      responses: responses({ "200": json(answer(z.object({ upload: uploadOut })), "Where to put it.") }),
    },
  },
  "/files/{fileId}": {
    delete: {
      summary: "Removes a file, unless a run that hasn't ended has it.",
      parameters: [inPath("fileId")],
      responses: responses({ "200": json(answer(itsId), "It is removed.") }),
    },
  },
};
