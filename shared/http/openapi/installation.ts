// What belongs to the installation and not to a run: health, this description, agents, files.
import { FILE_MAX_BYTES } from "../../core/limits.ts";
import { filesQuery } from "../files.ts";
import { anything, inPath, json, list, nullable, object, query, ref, responses, text } from "./parts.ts";

export const installationPaths = {
  "/healthz": {
    get: {
      summary: "Whether the server answers; needs no key.",
      security: [],
      responses: { "200": json(object({ status: text }), "It does.") },
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
      responses: responses({ "200": json(object({ agents: list(ref("Agent")) }), "Agents.") }),
    },
  },
  "/overview": {
    get: {
      summary: "What to look at first: counts, runs that wait for a person, stuck work, failures, what today cost.",
      responses: responses({ "200": json(ref("Overview"), "As it is now.") }),
    },
  },
  "/files": {
    post: {
      summary: `Uploads one file of at most ${FILE_MAX_BYTES} bytes; the same file twice has one id.`,
      parameters: [
        { name: "name", in: "query", schema: text, description: "The file's name, where the body is the file itself." },
      ],
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
      parameters: query(filesQuery),
      responses: responses({
        "200": json(object({ files: list(ref("ListedFile")), next: nullable(text) }), "A page."),
      }),
    },
  },
  "/files/{fileId}": {
    delete: {
      summary: "Removes a file, unless a run that hasn't ended has it.",
      parameters: [inPath("fileId")],
      responses: responses({ "200": json(object({ id: text }), "It is removed.") }),
    },
  },
};
