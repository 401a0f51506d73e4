import { describe, expect, test } from "@jest/globals";
import * as fc from "fast-check";
import { bearer, isKey, newKey, sameSecret } from "../../shared/http/auth.ts";

describe("API keys", () => {
  test("are all different and all valid", () => {
    const keys = Array.from({ length: 200 }, newKey);
    expect(new Set(keys).size).toBe(200);
    expect(keys.every(isKey)).toBe(true);
  });

  test("the checksum catches every single changed character", () => {
    const key = newKey();
    const place = fc.integer({ min: 6, max: key.length - 1 });
    const letter = fc.constantFrom(..."0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz");
    fc.assert(
      fc.property(place, letter, (i, c) => {
        fc.pre(key[i] !== c);
        expect(isKey(key.slice(0, i) + c + key.slice(i + 1))).toBe(false);
      }),
    );
  });

  test.each(["", "toren_", "toren_x", "sk-123", `toren_${"é".repeat(38)}`])("%j isn't one", (text) =>
    expect(isKey(text)).toBe(false),
  );

  test("are compared whole", async () => {
    const key = newKey();
    expect(await sameSecret(key, key)).toBe(true);
    expect(await sameSecret(key, `${key} `)).toBe(false);
    expect(await sameSecret(key, "")).toBe(false);
  });

  test("are read from a bearer header alone", () => {
    expect(bearer("Bearer abc")).toBe("abc");
    expect(bearer("bearer  abc ")).toBe("abc");
    for (const header of [undefined, "", "abc", "Basic abc", "Bearer", "Bearer a b"]) expect(bearer(header)).toBeNull();
  });
});
