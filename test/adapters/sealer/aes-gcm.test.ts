import { describe, expect, test } from "@jest/globals";
import { createSealer, sealerBy } from "../../../shared/adapters/sealer/aes-gcm.ts";
import { createEnvSecrets } from "../../../shared/adapters/secrets/env.ts";
import type { DataKey, Sealer } from "../../../shared/ports/sealer.ts";
import type { Secrets, SecretValues } from "../../../shared/ports/secrets.ts";
import { masterKey, sealerWith } from "../../support/sealer.ts";

const fresh = async (sealer: Sealer, of = "run-1"): Promise<DataKey> => {
  const key = await sealer.fresh(of);
  if (key === null) throw new Error("nothing is sealed");
  return key;
};
const UNREADABLE = { code: "encryption.unreadable" };

describe("a data key", () => {
  test("opens what it sealed, in another process too, and no two seals are alike", async () => {
    const master = masterKey("a");
    const key = await fresh(sealerWith(master));
    const [one, two] = [key.seal("args", "héllo"), key.seal("args", "héllo")];
    expect(one).not.toBe(two);
    expect(one + two + key.wrapped).not.toContain("héllo");
    const other = await sealerWith(master).unwrap(key.wrapped);
    expect([other.open("args", one), other.open("args", two)]).toEqual(["héllo", "héllo"]);
    const bytes = Uint8Array.from([0, 255, 1]);
    expect([...other.openBytes("content", key.sealBytes("content", bytes))]).toEqual([0, 255, 1]);
  });

  test("opens nothing in another place, of another run, or that was changed by one bit", async () => {
    const sealer = sealerWith(masterKey("a"));
    const [key, other] = [await fresh(sealer, "run-1"), await fresh(sealer, "run-2")];
    const sealed = key.seal("args", "secret");
    expect(() => key.open("result", sealed)).toThrow(expect.objectContaining(UNREADABLE));
    expect(() => other.open("args", sealed)).toThrow(expect.objectContaining(UNREADABLE));
    const box = Buffer.from(sealed.slice(2), "base64");
    for (const at of [0, 12, box.length - 1]) {
      const changed = Buffer.from(box);
      changed[at] = (changed[at] ?? 0) ^ 1;
      expect(() => key.open("args", `1.${changed.toString("base64")}`)).toThrow(expect.objectContaining(UNREADABLE));
    }
    for (const damaged of ["", "1.", "1.AAAA", `2.${sealed.slice(2)}`])
      expect(() => key.open("args", damaged)).toThrow(expect.objectContaining(UNREADABLE));
  });

  test("belongs to what it was made for: its wrapped form under another name is refused", async () => {
    const sealer = sealerWith(masterKey("a"));
    const { wrapped } = await fresh(sealer, "run-1");
    for (const moved of [wrapped.replace(".run-1.", ".run-2."), wrapped.slice(0, -8), "k2.a.b.c", ""])
      await expect(sealer.unwrap(moved)).rejects.toMatchObject(UNREADABLE);
  });
});

describe("the installation's keys", () => {
  test("the first wraps, all unwrap; one that is gone is named", async () => {
    const [old, young] = [masterKey("2025"), masterKey("2026")];
    const before = await fresh(sealerWith(old));
    const rotated = sealerWith(young, old);
    expect((await fresh(rotated)).wrapped).toMatch(/^k1\.2026\./);
    expect((await rotated.unwrap(before.wrapped)).open("x", before.seal("x", "kept"))).toBe("kept");
    await expect(sealerWith(young).unwrap(before.wrapped)).rejects.toMatchObject({
      code: "encryption.key_missing",
      message: expect.stringMatching(/"2025".*TOREN_ENCRYPTION_KEYS/),
    });
  });

  test("another key under the same id opens nothing, and says so", async () => {
    const { wrapped } = await fresh(sealerWith(masterKey("a")));
    await expect(sealerWith(masterKey("a")).unwrap(wrapped)).rejects.toMatchObject(UNREADABLE);
  });

  test("a key that came into the secret meanwhile is found when it is asked for", async () => {
    const [old, young] = [masterKey("2025"), masterKey("2026")];
    let values: SecretValues = { TOREN_ENCRYPTION_KEYS: old };
    const kept = values;
    const secrets: Secrets = { read: async () => kept, insteadOf: async () => values };
    const sealer = createSealer(secrets);
    const { wrapped } = await fresh(sealerWith(young, old));
    await expect(sealer.unwrap(wrapped)).rejects.toMatchObject({ code: "encryption.key_missing" });
    values = { TOREN_ENCRYPTION_KEYS: `${young},${old}` };
    expect((await sealer.unwrap(wrapped)).wrapped).toBe(wrapped);
  });

  test.each([
    ["no id", "AAAA", /entry 1 doesn't begin with an id/],
    ["an odd id", `a b:${masterKey("x").slice(2)}`, /entry 1 doesn't begin with an id/],
    ["a short key", "a:AAAA", /the key "a" isn't 32 bytes/],
    ["no base64", `a:${"%".repeat(44)}`, /the key "a" isn't 32 bytes/],
    ["an id twice", `${masterKey("a")},${masterKey("a")}`, /the id "a" is there twice/],
    ["nothing but commas", " , ", /there is none/],
  ])("%s is refused at the start, without a word of the key", async (_, setting, say) => {
    const refused = sealerBy(createEnvSecrets({ TOREN_ENCRYPTION_KEYS: setting }));
    const error = await refused.then(
      () => null,
      (e: Error) => e,
    );
    expect(error).toMatchObject({ code: "encryption.keys_invalid", message: expect.stringMatching(say) });
    const secret = setting.split(":")[1] ?? "";
    if (secret.length > 20) expect(error?.message).not.toContain(secret.slice(0, 20));
  });

  test("unset or empty: nothing is sealed, and what others sealed names the key that is missing", async () => {
    const { wrapped } = await fresh(sealerWith(masterKey("theirs")));
    for (const env of [{}, { TOREN_ENCRYPTION_KEYS: "" }]) {
      const sealer = await sealerBy(createEnvSecrets(env));
      expect([sealer.on, await sealer.fresh("x")]).toEqual([false, null]);
      await expect(sealer.unwrap(wrapped)).rejects.toMatchObject({
        code: "encryption.key_missing",
        message: expect.stringContaining('"theirs"'),
      });
    }
  });
});
