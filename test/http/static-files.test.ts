// The console's files are open and nothing else is; what comes with them keeps a model's words text.
import { describe, expect, test } from "@jest/globals";
import { CONTENT_SECURITY_POLICY, type StaticFile } from "../../shared/http/static-files.ts";
import { fakeApp } from "./fakes.ts";

const file = (text: string, mediaType: string, zipped: string | null = null): StaticFile => {
  const bytes = (of: string): Uint8Array<ArrayBuffer> => new Uint8Array(new TextEncoder().encode(of));
  return { mediaType, content: bytes(text), gzip: zipped === null ? null : bytes(zipped) };
};
const FILES = new Map([
  ["index.html", file("<html>", "text/html; charset=utf-8")],
  ["app-XYZ.js", file("let a;", "text/javascript; charset=utf-8", "zip")],
]);

const app = (basePath?: string) => fakeApp({ console: async () => FILES }, basePath).app;

describe("the console's files", () => {
  test("come without a key: the page always asked for anew, what it names kept for a year", async () => {
    const page = await app().request("/");
    expect([page.status, await page.text()]).toEqual([200, "<html>"]);
    expect(page.headers.get("cache-control")).toBe("no-cache");
    const script = await app().request("/console/app-XYZ.js");
    expect([script.status, await script.text()]).toEqual([200, "let a;"]);
    expect(script.headers.get("cache-control")).toContain("immutable");
    expect(script.headers.get("content-type")).toContain("javascript");
  });

  test("come with a policy that runs no script but ours and makes no markup from strings", async () => {
    for (const path of ["/", "/console/app-XYZ.js"]) {
      const { headers } = await app().request(path);
      expect(headers.get("content-security-policy")).toBe(CONTENT_SECURITY_POLICY);
      expect(headers.get("x-content-type-options")).toBe("nosniff");
    }
    expect(CONTENT_SECURITY_POLICY).toContain("default-src 'none'");
    expect(CONTENT_SECURITY_POLICY).toContain("require-trusted-types-for 'script'");
    expect(CONTENT_SECURITY_POLICY).not.toMatch(/unsafe|\*|https?:|data:|blob:/);
  });

  test("come compressed to whoever takes that; HEAD brings no body", async () => {
    const zipped = await app().request("/console/app-XYZ.js", { headers: { "accept-encoding": "gzip, br" } });
    expect([zipped.headers.get("content-encoding"), await zipped.text()]).toEqual(["gzip", "zip"]);
    const head = await app().request("/", { method: "HEAD" });
    expect([head.status, await head.text()]).toEqual([200, ""]);
  });

  test("under a stage's path too", async () => {
    expect((await app("/v1").request("/v1/")).status).toBe(200);
    expect((await app("/v1").request("/v1")).status).toBe(200);
    expect((await app("/v1").request("/v1/console/app-XYZ.js")).status).toBe(200);
  });

  test("are all that is open: whatever else there is or isn't needs a key", async () => {
    for (const path of ["/runs", "/console/none.js", "/console/", "/console/..%2f..%2fkey", "/index.html", "/agents"])
      expect([path, (await app().request(path)).status]).toEqual([path, 401]);
    expect((await app().request("/", { method: "POST" })).status).toBe(401);
    expect((await fakeApp().app.request("/")).status).toBe(401);
  });
});
