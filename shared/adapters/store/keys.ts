// API keys in the control schema.
import { createHash } from "node:crypto";
import type { Database } from "../../ports/database.ts";
import type { Keys } from "../../ports/keys.ts";
import { createStatements } from "./statements.ts";

export function createKeys(database: Pick<Database, "appends" | "pool">): Keys {
  const { ask } = createStatements(database);
  return {
    keep: async (key, name) => void (await ask("add-api-key", null, [hashOf(key), name])),
    nameOf: async (key) => (await ask<{ name: string }>("find-api-key", null, [hashOf(key)]))[0]?.name ?? null,
  };
}

/** A key is 190 random bits: what is slow to guess needs no slow hash. Looked up by the hash, its time tells nothing of a key. */
const hashOf = (key: string): string => createHash("sha256").update(key).digest("hex");
