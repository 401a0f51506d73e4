// Secrets of an installation on AWS: one secret, a JSON object of strings. Twin on a laptop: env.ts.
import * as z from "zod";
import { messageOf, TorenError } from "../../core/errors.ts";
import { SECRET_KEEP_MS, SECRET_REREAD_MS } from "../../core/limits.ts";
import type { Secrets, SecretValues } from "../../ports/secrets.ts";
import { CALLS } from "../aws/calls.ts";

const values = z.record(z.string(), z.string());

export interface SecretsManagerOptions {
  readonly arn: string;
  /** Default: the wall clock, which goes on while a function is frozen. */
  now?(): number;
}

export function createSecretsManagerSecrets({ arn, now = Date.now }: SecretsManagerOptions): Secrets {
  let kept: { readonly values: SecretValues; readonly at: number } | undefined;
  let reading: Promise<SecretValues> | undefined;
  const fetched = (): Promise<SecretValues> => {
    reading ??= readSecret(arn)
      .then((text) => parsed(arn, text))
      .then((read) => {
        kept = { values: read, at: now() };
        return read;
      })
      .finally(() => {
        reading = undefined;
      });
    return reading;
  };
  return {
    read: async () => {
      if (kept !== undefined && now() - kept.at < SECRET_KEEP_MS) return kept.values;
      try {
        return await fetched();
      } catch (e) {
        if (kept !== undefined) return kept.values; // an outage of Secrets Manager stops nobody who has the keys
        throw e;
      }
    },
    insteadOf: async (refused) => {
      const last = kept;
      if (last !== undefined && !same(last.values, refused)) return last.values; // somebody else has looked meanwhile
      if (last !== undefined && now() - last.at < SECRET_REREAD_MS) return null;
      try {
        const read = await fetched();
        return same(read, refused) ? null : read;
      } catch {
        return null;
      }
    },
  };
}

const same = (a: SecretValues, b: SecretValues): boolean =>
  JSON.stringify(Object.entries(a).sort()) === JSON.stringify(Object.entries(b).sort());

/** The text of a secret. @throws TorenError `secret.unavailable`, `secret.unusable`; both name it. */
export async function readSecret(arn: string): Promise<string> {
  const { SecretsManagerClient, GetSecretValueCommand } = await import("@aws-sdk/client-secrets-manager");
  const client = new SecretsManagerClient(CALLS);
  try {
    const { SecretString } = await client.send(new GetSecretValueCommand({ SecretId: arn }));
    return SecretString ?? "";
  } catch (e) {
    const code = OURS.test((e as Error).name) ? "secret.unusable" : "secret.unavailable";
    throw new TorenError(code, `The secret ${arn} can't be read: ${messageOf(e)}`, { cause: e });
  } finally {
    client.destroy();
  }
}

/** What no other try mends: it isn't there, isn't ours to read, or is about to be deleted. */
const OURS = /ResourceNotFound|AccessDenied|InvalidRequest|InvalidParameter|DecryptionFailure/;

export async function writeSecret(arn: string, text: string): Promise<void> {
  const { SecretsManagerClient, PutSecretValueCommand } = await import("@aws-sdk/client-secrets-manager");
  const client = new SecretsManagerClient(CALLS);
  try {
    await client.send(new PutSecretValueCommand({ SecretId: arn, SecretString: text }));
  } catch (e) {
    throw new TorenError("secret.unavailable", `The secret ${arn} can't be written: ${messageOf(e)}`, { cause: e });
  } finally {
    client.destroy();
  }
}

/** Its text is never part of a message. */
function parsed(arn: string, text: string): SecretValues {
  const say = `The secret ${arn} is not a JSON object of strings, as in {"OPENAI_API_KEY": "sk-…"}.`;
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw new TorenError("secret.unusable", say);
  }
  const checked = values.safeParse(json);
  if (!checked.success) throw new TorenError("secret.unusable", say);
  return checked.data;
}
