// I6: digests and keys that logs hold are what they always were. The vectors were checked by a second implementation when they were written.
import { readFileSync } from "node:fs";
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { chain, DIGEST_VERSION, digestOf } from "../../shared/core/digest.ts";
import type { Json } from "../../shared/core/json.ts";
import type { Message } from "../../shared/core/messages.ts";
import { append, emptyHistory, type History, headerOf, linkOf, type RoleText } from "../../shared/core/task/header.ts";
import { apply, idempotencyKey } from "../../shared/core/task/state.ts";
import { initialState } from "../../shared/core/task/task-state.ts";
import { json, reversed } from "./arbitraries.ts";

interface Vectors {
  readonly version: string;
  readonly headers: readonly {
    readonly name: string;
    readonly role: RoleText;
    readonly system: string;
    readonly digest: string;
    readonly parts: Record<string, string>;
  }[];
  readonly chains: readonly {
    readonly name: string;
    readonly header: string;
    readonly messages: readonly Message[];
    readonly request: readonly Message[];
    readonly links: readonly string[];
    readonly digest: string;
  }[];
  readonly keys: readonly {
    readonly runId: string;
    readonly taskId: string;
    readonly tool: string;
    readonly args: Json;
    readonly before: number;
    readonly key: string;
  }[];
}
const vectors: Vectors = JSON.parse(readFileSync(new URL("../vectors/digests.json", import.meta.url), "utf8"));

const roleNamed = (name: string): RoleText => {
  const found = vectors.headers.find((h) => h.name === name);
  if (found === undefined) throw new Error(`no header "${name}" in the vectors`);
  return found.role;
};

describe("golden digests", () => {
  test("are of the version that is written", () => {
    expect(DIGEST_VERSION).toBe(vectors.version);
  });

  test.each(vectors.headers)("header: $name", ({ role, system, digest, parts }) => {
    const header = headerOf(role);
    expect(header.system).toBe(system);
    expect(header.digest).toBe(digest);
    expect(header.parts).toEqual(parts);
  });

  test.each(vectors.headers)("the same role with its keys in another order: $name", ({ role, digest }) => {
    expect(headerOf(reversed(role as unknown as Json) as unknown as RoleText).digest).toBe(digest);
  });

  test.each(vectors.chains)("request: $name", ({ header: name, messages, request, links, digest }) => {
    const header = headerOf(roleNamed(name));
    const history: History = emptyHistory();
    const seen = messages.map((message) => {
      append(header, history, message);
      return linkOf(header, history);
    });
    expect(seen).toEqual(links);
    expect(history.messages).toEqual(request);
    expect(linkOf(header, history)).toBe(digest);
    expect(request.reduce((link, message) => chain(link, message as unknown as Json), header.digest)).toBe(digest);
  });

  test.each(vectors.keys)("idempotency key of call $before", ({ runId, taskId, tool, args, before, key }) => {
    const state = initialState(headerOf(roleNamed("bare")), null, "x");
    for (let n = 0; n < before; n++)
      apply(
        state,
        {
          type: "ToolCallStarted",
          stepId: "s0",
          toolUseId: `u${n}`,
          tool,
          args,
          idempotencyKey: "any",
          effects: "external",
          idempotency: "keyed",
        },
        0,
      );
    expect(idempotencyKey(runId, taskId, state, tool, args)).toBe(key);
  });
});

describe("digestOf", () => {
  test("c19: is the same for the same value, whatever the order of keys or the way a number is written", () => {
    expect(digestOf(JSON.parse('{"\uFF5E":1.0,"\uD83D\uDE00":1e21}'))).toBe(
      digestOf(JSON.parse('{"\uD83D\uDE00":1000000000000000000000,"\uFF5E":1}')),
    );
    fc.assert(fc.property(json, (value) => expect(digestOf(reversed(value))).toBe(digestOf(value))));
  });

  test("a chain can't be confused with its last message alone", () => {
    expect(chain("", "x")).not.toBe(digestOf("x"));
    expect(chain(digestOf("a"), "x")).not.toBe(chain(digestOf("b"), "x"));
  });
});
