// Signing in and out: a key, for one tab, that no server and no address keeps.
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { newKey } from "../../shared/http/auth.ts";
import { openSite, type Site } from "./support.ts";

let site: Site;
beforeAll(async () => {
  site = await openSite();
});
afterAll(async () => await site.close());

describe("signing in", () => {
  test("the link that `toren dev` prints does it; the key leaves the address at once", async () => {
    const { page, complaints, close } = await site.visit();
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    expect(page.url()).toBe(`${site.server.record.url}/#/`);
    expect(await page.evaluate(() => [sessionStorage.length, localStorage.length, document.cookie])).toEqual([
      1,
      0,
      "",
    ]);
    expect(complaints).toEqual([]);
    await close();
  });

  test("by hand; a key that isn't one, and one that isn't known, are refused in the server's words", async () => {
    const { page, close } = await site.visit({ stranger: true });
    const field = page.getByLabel("Key", { exact: true });
    for (const [key, words] of [
      ["toren_nonsense", "isn't a Toren key"],
      [newKey(), "isn't known here"],
    ] as const) {
      await field.fill(key);
      await page.getByRole("button", { name: "Sign in" }).click();
      await page.getByRole("alert").getByText(words).waitFor();
    }
    await field.fill(site.server.key);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    await page.getByRole("button", { name: "Sign out" }).click();
    await field.waitFor();
    expect(await page.evaluate(() => sessionStorage.length)).toBe(0);
    await close();
  });

  test("a server that doesn't answer is said, and the page goes on when it is back", async () => {
    const { page, close } = await site.visit();
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    await page.context().setOffline(true);
    await page.getByText("The server doesn't answer").first().waitFor();
    await page.context().setOffline(false);
    await page.getByText("The server doesn't answer").first().waitFor({ state: "detached" });
    await close();
  });
});
