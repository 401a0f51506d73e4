// Secrets of a laptop: the environment that the process was started with. Twin on AWS: secrets-manager.ts.
import type { Secrets, SecretValues } from "../../ports/secrets.ts";

export function createEnvSecrets(env: Readonly<Record<string, string | undefined>>): Secrets {
  const entries = Object.entries(env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const]));
  const values: SecretValues = Object.freeze(Object.fromEntries(entries));
  return {
    read: async () => values,
    insteadOf: async () => null, // it is what it was at the start
  };
}
