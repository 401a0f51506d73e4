// Providers' keys, what agents list under `env`, and the keys that payloads are encrypted with. Twins: adapters/secrets/env.ts on a laptop, adapters/secrets/secrets-manager.ts on AWS.

/** By the names of environment variables. */
export type SecretValues = Readonly<Record<string, string>>;

export interface Secrets {
  /** Kept for a while. @throws TorenError `secret.unavailable` when another try may help, else `secret.unusable`, which says what is wrong with it. */
  read(): Promise<SecretValues>;
  /**
   * Somebody refused a key that `read` gave in `refused`: what is there now, if that is something else; read anew at most once in some seconds. Null:
   * nothing else is there, another try is not worth it. Never rejects: what can't be read is as before.
   */
  insteadOf(refused: SecretValues): Promise<SecretValues | null>;
}
