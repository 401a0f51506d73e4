import { describe, expect, test } from "@jest/globals";
import { sealerOf } from "../../functions/sealer.ts";
import type { Secrets, SecretValues } from "../../shared/ports/secrets.ts";
import { masterKey } from "../support/sealer.ts";

const KEYS = masterKey("mine");
const secretWith = (values: SecretValues): Secrets & { reads: number } => {
  const secret = {
    reads: 0,
    read: async () => {
      secret.reads++;
      return values;
    },
    insteadOf: async () => null,
  };
  return secret;
};

describe("a deployed function's keys", () => {
  test("are those of the secret, where the stack has encryption", async () => {
    const sealer = await sealerOf({ TOREN_ENCRYPTION: "on" }, secretWith({ TOREN_ENCRYPTION_KEYS: KEYS }));
    expect((await sealer.fresh("run"))?.wrapped).toMatch(/^k1\.mine\.run\./);
  });

  test("without the option the secret isn't read, whatever is in it", async () => {
    for (const env of [{}, { TOREN_ENCRYPTION: "" }]) {
      const secret = secretWith({ TOREN_ENCRYPTION_KEYS: KEYS });
      expect([(await sealerOf(env, secret)).on, secret.reads]).toEqual([false, 0]);
    }
  });

  test("with the option and no keys there it does nothing, and says so", async () => {
    const secrets: SecretValues[] = [{}, { TOREN_ENCRYPTION_KEYS: "" }, { TOREN_ENCRYPTION_KEYS: "a:b" }];
    for (const values of secrets)
      await expect(sealerOf({ TOREN_ENCRYPTION: "on" }, secretWith(values))).rejects.toMatchObject({
        code: "encryption.keys_invalid",
      });
    await expect(sealerOf({ TOREN_ENCRYPTION: "yes" }, secretWith({}))).rejects.toMatchObject({
      code: "environment.incomplete",
    });
  });
});
