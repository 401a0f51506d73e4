import { expect, test } from "@jest/globals";
import { agentYaml, LIMITS_KEYS, MODEL_KEYS, ROLE_KEYS } from "../../shared/authoring/agent-schema.ts";
import { BUILTINS } from "../../shared/authoring/builtins.ts";
import { MAX_STEPS_DEFAULT, MAX_TOKENS_DEFAULT } from "../../shared/core/limits.ts";
import { filesBelow, read, sections } from "./files.ts";

/** First cells of a section's tables. */
const rows = (text: string): string[] => [...text.matchAll(/^\| `([^`]+)` \|/gm)].map((hit) => hit[1] as string);

test("docs/reference/settings.md has every environment variable that the code reads, and no other", () => {
  // Others' conventions, of which the page needn't speak.
  const foreign = new Set(["TERM", "PATH", "HOME", "FORCE_COLOR", "CI"]);
  const read_ = ["shared", "functions", "local"]
    .flatMap(filesBelow)
    .filter(({ path }) => /\.(ts|mjs)$/.test(path))
    .flatMap(({ text }) => [...text.matchAll(/\benv(?:\.|\[")([A-Z][A-Z_]+)\b/g)].map((hit) => hit[1] as string))
    .filter((name) => !foreign.has(name));
  expect(rows(read("docs/reference/settings.md")).sort()).toEqual([...new Set(read_)].sort());
});

test("docs/reference/agent-yaml.md has every key of the schema, every builtin, and the defaults", () => {
  const page = read("docs/reference/agent-yaml.md");
  const parts = sections(page, 2);
  expect(rows(parts.get("Of a role") ?? "").sort()).toEqual([...ROLE_KEYS].sort());
  const own = Object.keys(agentYaml.shape).filter((key) => !ROLE_KEYS.includes(key));
  expect(rows(parts.get("Of the agent") ?? "").sort()).toEqual(own.sort());
  expect(rows(parts.get("Of a model") ?? "")).toEqual(MODEL_KEYS);
  expect(rows(parts.get("Limits") ?? "")).toEqual(LIMITS_KEYS);
  expect(rows(parts.get("Builtin tools") ?? "").sort()).toEqual([...BUILTINS.keys()].sort());
  expect(page).toContain(`| tokens | ${MAX_TOKENS_DEFAULT.toLocaleString("en-US")} |`);
  expect(page).toContain(`| calls | ${MAX_STEPS_DEFAULT} |`);
});
