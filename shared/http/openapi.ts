// The description of the routes at /openapi.json; a test holds it equal to the routes that there are.
import { installationPaths } from "./openapi/installation.ts";
import { keyPaths } from "./openapi/keys.ts";
import { runPaths } from "./openapi/runs.ts";
import { schedulePaths } from "./openapi/schedules.ts";
import { schemas } from "./openapi/schemas.ts";

export const openApi = {
  openapi: "3.1.0",
  info: { title: "Toren", version: "1", description: "A durable runtime for AI agents." },
  // Relative to this document: right under a stage path too.
  servers: [{ url: "." }],
  security: [{ key: [] }],
  paths: { ...installationPaths, ...keyPaths, ...runPaths, ...schedulePaths },
  components: {
    schemas,
    securitySchemes: { key: { type: "http", scheme: "bearer", description: "An API key, `toren_…`." } },
  },
};
