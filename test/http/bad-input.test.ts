// Every route that there is, asked for wrongly in every way that concerns it: the right status, a problem, nothing done. Routes and what they take come
// from the app and its description, so that a new one can't be forgotten.
import { expect, test } from "@jest/globals";
import { REQUEST_BODY_BYTES } from "../../shared/core/limits.ts";
import { ROUTES, type RouteEntry } from "../../shared/http/app.ts";
import { openApi } from "../../shared/http/openapi.ts";
import { fakeApp, problem, RUN } from "./fakes.ts";

interface Described {
  readonly parameters?: readonly { readonly name: string; readonly in: string }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, unknown>> };
}
const paths = openApi.paths as unknown as Readonly<Record<string, Readonly<Record<string, Described>>>>;
const described = ({ method, path }: RouteEntry): Described => paths[path]?.[method.toLowerCase()] ?? {};
const filled = (path: string): string => path.replaceAll("{seq}", "2").replaceAll(/\{\w+\}/g, RUN);
const named = (routes: readonly RouteEntry[]) =>
  routes.map((route) => [`${route.method} ${route.path}`, route] as const);

/** What was looked up before the refusal doesn't count: the run that the path names, and which agents there are. */
const LOOKS = new Set(["agentOf", "agents"]);

const withBody = ROUTES.filter((route) => described(route).requestBody?.content["application/json"] !== undefined);
test.each(named(withBody))("%s: a body that is none, has unknown fields, or is too large", async (_, route) => {
  const bodies: readonly (readonly [status: number, body: string])[] = [
    [400, "{"],
    [400, "[]"],
    [400, '{"nonsense":1}'],
    [400, '"\\u0000"'],
    [400, "[".repeat(200_000)],
    [413, `{"a":"${"x".repeat(2 * REQUEST_BODY_BYTES)}"}`],
  ];
  for (const [status, body] of bodies) {
    const touched: string[] = [];
    const { ask, noted } = fakeApp({ touched });
    const refused = await problem(await ask(filled(route.path), { method: route.method, body }));
    // A schedule that isn't there is said before its change is read.
    if (refused.status !== 404) expect([body.slice(0, 20), refused.status]).toEqual([body.slice(0, 20), status]);
    expect(touched.filter((call) => !LOOKS.has(call))).toEqual([]);
    expect(noted).toEqual([]);
  }
});

test("a body whose sender goes away in the middle is no bug of ours", async () => {
  const body = new ReadableStream({
    pull: (controller) => controller.error(new Error("aborted")),
    start: (controller) => controller.enqueue(new TextEncoder().encode('{"agent":')),
  });
  const { ask, logged } = fakeApp();
  const response = await ask("/runs", { method: "POST", body, duplex: "half" });
  expect([(await problem(response)).status, logged]).toEqual([400, []]);
});

const withIds = ROUTES.filter(({ path, scope }) => path.includes("{") && scope !== "open");
test.each(named(withIds))("%s: ids that are none", async (_, route) => {
  for (const id of ["x", "%00", "%2e%2e%2f%2e%2e", "0".repeat(2_000), "%ED%A0%80", "'%3B--", `${RUN}0`]) {
    const gone = { type: "refused", error: { code: "dead_letter.unknown", message: "There is none." } } as const;
    const { ask, noted, logged } = fakeApp({ useCases: { sendDeadLetter: async () => gone } });
    const path = route.path.replaceAll(/\{\w+\}/g, id);
    const refused = await problem(await ask(path, { method: route.method }));
    expect([id, refused.status < 500, refused.status >= 400]).toEqual([id, true, true]);
    expect([noted, logged]).toEqual([[], []]);
  }
});

test("nothing is asked about a text with a NUL, which Postgres can't hold", async () => {
  const ask = async (method: string, address: string, status: number) => {
    const touched: string[] = [];
    const response = await fakeApp({ touched }).ask(address, { method });
    expect([address, (await problem(response)).status]).toEqual([address, status]);
    expect(touched.filter((call) => !LOOKS.has(call))).toEqual([]);
  };
  for (const route of ROUTES.filter(({ scope }) => scope !== "open"))
    for (const parameter of described(route).parameters ?? [])
      if (parameter.in === "query") await ask(route.method, `${filled(route.path)}?${parameter.name}=a%00b`, 400);
  await ask("GET", `/runs/${RUN}/tasks/w%00/calls/2`, 404);
});

const CURSORS = ["cursor", "after", "before"];
const paged = ROUTES.flatMap((route) =>
  (described(route).parameters ?? [])
    .filter((parameter) => parameter.in === "query" && CURSORS.includes(parameter.name))
    .map(({ name }) => [`${route.method} ${route.path}?${name}`, route, name] as const),
);
test("there are pages", () => expect(paged.length).toBeGreaterThan(5));
test.each(paged)("%s: a parameter that nobody knows, or twice", async (_, route, name) => {
  for (const query of ["nonsense=1", `${name}=1&${name}=2`, "limit=0", "limit=x"]) {
    const { ask } = fakeApp();
    const stream = described(route).parameters?.some((parameter) => parameter.name === "stream") ? "stream=run&" : "";
    const response = await ask(`${filled(route.path)}?${stream}${query}`);
    expect([query, (await problem(response)).status]).toEqual([query, 400]);
  }
});
