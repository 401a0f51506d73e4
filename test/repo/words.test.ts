import { expect, test } from "@jest/globals";
import { filesBelow, type RepoFile } from "./files.ts";

// Written in two halves: this file is looked at too.
const FORBIDDEN: readonly (readonly [why: string, pattern: RegExp])[] = [
  ["a note to oneself: do it, or open an issue", new RegExp(`\\b(TO${"DO"}|FIX${"ME"}|X${"XX"}|HA${"CK"})\\b`)],
  ["a path of somebody's machine", new RegExp(`(?<![\\w.])/(wo${"rk"}|ro${"ot"}|ho${"me"}|Us${"ers"})/[a-z]`)],
  [
    "the host of a package registry: clients know theirs",
    new RegExp(`https?://[\\w.-]*(regis${"try"}|artif${"actory"}|nex${"us"})[\\w.-]*\\.`),
  ],
  ["a section of a page that isn't in the repository", new RegExp(`\\bdes${"ign"}(\\.md)?(:| §| section)`)],
];

/** The corpus is PostgreSQL's own text; its manual names paths of the kind. */
const looked = ({ path }: RepoFile): boolean => !/^agents\/[^/]+\/corpus\//.test(path) && path !== "package-lock.json";

test.each(FORBIDDEN)("no file holds %s", (_why, pattern) => {
  const found = filesBelow("")
    .filter(looked)
    .flatMap(({ path, text }) =>
      text
        .split("\n")
        .flatMap((line, i) => (pattern.test(line) ? [`${path}:${i + 1}: ${line.trim().slice(0, 120)}`] : [])),
    );
  expect(found).toEqual([]);
});

test("the lock file names no host to download from: everybody's own registry serves it", () => {
  const lock = filesBelow("").find(({ path }) => path === "package-lock.json");
  expect(lock?.text).not.toMatch(/"resolved"/);
  expect(lock?.text).not.toMatch(/https?:\/\/[^"]*\.tgz/);
});
