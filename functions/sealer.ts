// With which keys a deployed function seals what it writes: those in the installation's secret, where the stack was deployed with encryption.
import { createSealer } from "../shared/adapters/sealer/aes-gcm.ts";
import { masterKeysIn } from "../shared/adapters/sealer/master-keys.ts";
import { NO_SEALER } from "../shared/core/sealing.ts";
import type { Sealer } from "../shared/ports/sealer.ts";
import type { Secrets } from "../shared/ports/secrets.ts";
import { type Environment, optional } from "./aws-environment.ts";

/**
 * Without the option the secret isn't read. With it nothing is ever written in clear because a key can't be read: then the function doesn't start.
 * @throws TorenError `encryption.keys_invalid`, `environment.incomplete`, `secret.unavailable`, `secret.unusable`.
 */
export async function sealerOf(env: Environment, secrets: Secrets): Promise<Sealer> {
  if (optional(env, "encryption") === null) return NO_SEALER;
  masterKeysIn(await secrets.read());
  return createSealer(secrets);
}
