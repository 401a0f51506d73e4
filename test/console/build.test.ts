// What every browser gets: small, of one origin, under any path.
import { beforeAll, describe, expect, test } from "@jest/globals";
import { buildConsole } from "../../console/build.ts";
import type { StaticFiles } from "../../shared/http/static-files.ts";

const BYTES_MAX = 150 * 1024;
let files: StaticFiles;
beforeAll(async () => {
  files = await buildConsole();
});
const textOf = (name: string): string => new TextDecoder().decode(files.get(name)?.content);

describe("the console's files", () => {
  test("are at most 150 KB in all, compressed", () => {
    const bytes = [...files.values()].reduce((sum, file) => sum + (file.gzip ?? file.content).byteLength, 0);
    expect(bytes).toBeGreaterThan(30_000);
    expect(bytes).toBeLessThan(BYTES_MAX);
  });

  test("have names of their content, so that they can be kept for ever, and the same content the same names", async () => {
    const names = [...files.keys()].filter((name) => name !== "index.html");
    expect(names.filter((name) => !/-[A-Z0-9]{8}\.(js|css|svg|woff2)$/.test(name))).toEqual([]);
    expect([...(await buildConsole()).keys()]).toEqual([...files.keys()]);
  });

  test("the page names them relative to itself, and holds no script and no style", () => {
    const page = textOf("index.html");
    const links = [...page.matchAll(/(?:href|src)="([^"]*)"/g)].map((hit) => hit[1] ?? "");
    expect(links.length).toBeGreaterThan(3);
    for (const link of links) expect([link, files.has(link.replace(/^console\//, ""))]).toEqual([link, true]);
    expect(page).not.toMatch(/<style|style=|<script(?![^>]*src=)|\son\w+=/i);
  });

  test("ask nobody else for anything", () => {
    for (const name of files.keys()) {
      if (!/\.(js|css|html)$/.test(name)) continue;
      const elsewhere = [...textOf(name).matchAll(/https?:\/\/[^\s"'`)]+/g)].map((hit) => hit[0]);
      expect([name, elsewhere.filter((url) => !url.startsWith("http://www.w3.org/"))]).toEqual([name, []]);
    }
  });
});
