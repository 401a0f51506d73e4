// What every twin of the secrets port keeps.
import { describe, expect, test } from "@jest/globals";
import type { Secrets } from "../../shared/ports/secrets.ts";

export const GIVEN = { OPENAI_API_KEY: "sk-1", DESK_TOKEN: "päss wörd\n" } as const;

/** `open`: a fresh one over GIVEN. */
export function secretsConformance(what: string, open: () => Promise<Secrets>): void {
  describe(what, () => {
    test("gives what it holds, by name", async () => {
      expect(await (await open()).read()).toEqual(GIVEN);
    });

    test("has nothing else when a key is refused and nothing has changed", async () => {
      const secrets = await open();
      expect(await secrets.insteadOf(await secrets.read())).toBeNull();
    });
  });
}
