// What is sealed in rows, opened past the store: by the setting unless a sealer is given.
import { sealerBy } from "../../shared/adapters/sealer/aes-gcm.ts";
import { createEnvSecrets } from "../../shared/adapters/secrets/env.ts";
import type { Json } from "../../shared/core/json.ts";
import { opened, openWith, type SealsText } from "../../shared/core/sealing.ts";
import type { Sealer } from "../../shared/ports/sealer.ts";

export const plain = (value: Json, key: SealsText | undefined): Json =>
  key === undefined ? value : opened(value, openWith(key));

/** By run. */
export async function dataKeys(
  runs: readonly { readonly runId: string; readonly key: string | null }[],
  given: Sealer | undefined,
): Promise<ReadonlyMap<string, SealsText>> {
  const sealer = given ?? (await sealerBy(createEnvSecrets(process.env)));
  const keys = new Map<string, SealsText>();
  for (const { runId, key } of runs) if (key !== null) keys.set(runId, await sealer.unwrap(key));
  return keys;
}
