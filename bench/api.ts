// The product's routes over an engine that is measured, and a key for them.
import { randomUUID } from "node:crypto";
import { httpDeps } from "../functions/http-deps.ts";
import { depthsOf } from "../shared/adapters/queue/postgres-depth.ts";
import { createApp } from "../shared/http/app.ts";
import { newKey } from "../shared/http/auth.ts";
import type { Database } from "../shared/ports/database.ts";
import type { Caller } from "../shared/ports/keys.ts";
import type { LiveIn } from "../shared/ports/live.ts";
import type { Engine } from "./stack.ts";

export function appOver(engine: Engine["deps"], database: Database, scopes: Caller["scopes"], live?: LiveIn) {
  const key = newKey();
  const caller = { keyId: randomUUID(), name: "bench", scopes, agents: null };
  const deps = httpDeps({
    engine,
    database,
    ...(live === undefined ? {} : { live }),
    queues: () => depthsOf(database),
    knows: async (given) => (given === key ? caller : null),
    problems: () => [],
  });
  return { app: createApp(deps), headers: { authorization: `Bearer ${key}` } };
}
