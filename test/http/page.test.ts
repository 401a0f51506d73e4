import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { ERRORS, type ErrorCode } from "../../shared/core/errors.ts";
import {
  DECIDED_BY_MAX_CHARS,
  DECISION_COMMENT_MAX_CHARS,
  EVENT_FIELD_BRIEF_BYTES,
  EVENTS_PAGE,
  EVENTS_PAGE_BYTES,
  EVENTS_WAIT_MAX_MS,
  FILE_MAX_BYTES,
  REQUEST_BODY_BYTES,
  RUNS_PAGE,
  RUNS_PAGE_MAX,
  TURNS_PAGE,
  TURNS_PAGE_BYTES,
  TURNS_PAGE_MAX,
} from "../../shared/core/limits.ts";
import { ROUTES } from "../../shared/http/app.ts";
import { problemOf, STATUS } from "../../shared/http/problems.ts";

const page = readFileSync(join(import.meta.dirname, "../../docs/reference/http.md"), "utf8");

test("docs/reference/http.md has every route, and no other", () => {
  const routes = [...page.matchAll(/^\| `((?:GET|POST|PATCH|DELETE) \/[^`]*)` \|/gm)].map((hit) => hit[1]);
  expect(routes.sort()).toEqual(ROUTES.map((route) => `${route.method} ${route.path}`).sort());
});

test("it has the status of every code", () => {
  const rows = [...page.matchAll(/^\| (\d{3}) \| (`[a-z_.]+`(?:, `[a-z_.]+`)*) \|$/gm)];
  const codes = rows.flatMap((row) =>
    [...(row[2] ?? "").matchAll(/`([^`]+)`/g)].map((hit) => [hit[1], Number(row[1])]),
  );
  expect(Object.fromEntries(codes)).toEqual(STATUS);
});

test("a problem's type is the place where its code is explained", () => {
  const anchors = [
    ...readFileSync(join(import.meta.dirname, "../../docs/reference/errors.md"), "utf8").matchAll(/^## (.+)$/gm),
  ].map((hit) => (hit[1] ?? "").replaceAll(/[^a-z_]/g, ""));
  for (const code of Object.keys(ERRORS) as ErrorCode[]) {
    const [page, anchor] = problemOf({ code, message: "" }).type.split("#");
    expect([page, anchors.includes(anchor ?? "")]).toEqual(["docs/reference/errors.md", true]);
  }
});

test("its numbers are the code's", () => {
  const mib = (bytes: number) => `${bytes / 1024 / 1024} MiB`;
  for (const text of [
    `at most ${mib(REQUEST_BODY_BYTES)}`,
    `At most ${mib(FILE_MAX_BYTES)}`,
    `${RUNS_PAGE} in a page by default, ${RUNS_PAGE_MAX} at most`,
    `seconds, at most ${EVENTS_WAIT_MAX_MS / 1_000}`,
    `at most ${EVENTS_PAGE} events and ${mib(EVENTS_PAGE_BYTES)}`,
    `(at most ${DECISION_COMMENT_MAX_CHARS.toLocaleString("en-US")} characters)`,
    `(at most ${DECIDED_BY_MAX_CHARS} characters)`,
    `in order, at most ${TURNS_PAGE} of them`,
    `${TURNS_PAGE} in a page by default, ${TURNS_PAGE_MAX} at most, fewer where they are long (${mib(TURNS_PAGE_BYTES)})`,
    `over ${EVENT_FIELD_BRIEF_BYTES.toLocaleString("en-US")} bytes`,
  ]) {
    expect(page).toContain(text);
  }
});
