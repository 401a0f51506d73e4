// Keys for tests.
import { randomBytes } from "node:crypto";
import { createSealer } from "../../shared/adapters/sealer/aes-gcm.ts";
import { createEnvSecrets } from "../../shared/adapters/secrets/env.ts";
import type { Sealer } from "../../shared/ports/sealer.ts";

/** As the setting has it: `id:<base64>`. */
export const masterKey = (id: string): string => `${id}:${randomBytes(32).toString("base64")}`;

export const sealerWith = (...keys: readonly string[]): Sealer =>
  createSealer(createEnvSecrets({ TOREN_ENCRYPTION_KEYS: keys.join(",") }));
