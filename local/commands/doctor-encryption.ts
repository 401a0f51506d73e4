// toren doctor: whether payloads are encrypted, and whether the keys that are set open what is there.
import { sealerBy } from "../../shared/adapters/sealer/aes-gcm.ts";
import { masterKeysIn } from "../../shared/adapters/sealer/master-keys.ts";
import { createEnvSecrets } from "../../shared/adapters/secrets/env.ts";
import { keysInUse } from "../../shared/adapters/store/sealed-keys.ts";
import { messageOf, TorenError } from "../../shared/core/errors.ts";
import type { Database } from "../../shared/ports/database.ts";
import type { Finding } from "../terminal/finding.ts";
import { counted } from "../terminal/units.ts";

const WHAT = "encryption";

/** Names of keys, never what they are. */
export async function encryptionFindings(database: Database, env: NodeJS.ProcessEnv): Promise<Finding[]> {
  try {
    const sealer = await sealerBy(createEnvSecrets(env));
    const used = await keysInUse({ ...database, sealer });
    const shut = used.filter((key) => key.problem !== null);
    return [
      sealer.on ? onFinding(env) : { what: WHAT, state: "note", found: "off: TOREN_ENCRYPTION_KEYS isn't set" },
      ...used
        .filter((key) => key.problem === null)
        .map((key) => finding("ok", key.keyId, `opens ${sealedBy(key.count)}`)),
      ...shut.map((key) => finding("wrong", key.keyId, `${sealedBy(key.count)}: ${key.problem}`)),
    ];
  } catch (e) {
    // A schema that isn't there yet, or is older, holds nothing that is sealed.
    if (e instanceof TorenError && e.code === "schema.older") return [];
    return [{ what: WHAT, state: "wrong", found: messageOf(e) }];
  }
}

function onFinding(env: NodeJS.ProcessEnv): Finding {
  const [first, ...others] = masterKeysIn(env).map((key) => `"${key.id}"`);
  const more = others.length === 0 ? "" : `; ${others.join(", ")} still open${others.length === 1 ? "s" : ""}`;
  return { what: WHAT, state: "ok", found: `on: new runs are sealed with the key ${first}${more}` };
}

const finding = (state: Finding["state"], keyId: string, found: string): Finding => ({
  what: `key ${keyId}`,
  state,
  found,
});
const sealedBy = (count: number): string => counted(count, "data key");
