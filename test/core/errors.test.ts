// The one table of errors, and the words for what nobody expected.
import { runInNewContext } from "node:vm";
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { ERRORS, messageOf, TorenError } from "../../shared/core/errors.ts";
import { ERROR_MESSAGE_MAX_CHARS } from "../../shared/core/limits.ts";

const fetchFailed = new TypeError("fetch failed", { cause: new Error("connect ECONNREFUSED 127.0.0.1:9") });

describe("messageOf", () => {
  test("of an endless chain of causes ends", () => {
    const error = new Error("round");
    error.cause = new Error("and", { cause: error });
    expect(messageOf(error)).toBe("round");
  });

  test("of a request that nobody answers names the address", async () => {
    const thrown: unknown = await fetch("http://127.0.0.1:1/").catch((e: unknown) => e);
    expect(messageOf(thrown)).toMatch(/^fetch failed: .+/);
  });

  test.each<[string, unknown, string]>([
    ["an error", new Error("no such file"), "no such file"],
    ["an error without a message (c7)", new TypeError(""), "TypeError"],
    ["an error with a blank message (c7)", new Error(" \n"), "Error"],
    ["an error of another realm", runInNewContext('new Error("elsewhere")'), "elsewhere"],
    ["something like an error", { message: "looks like one" }, "looks like one"],
    ["an error whose message is no text", Object.assign(new Error("x"), { message: { code: 5 } }), "Error"],
    ["text", "plain", "plain"],
    ["empty text", "", "failed without a message"],
    ["a number", 7, "7"],
    ["nothing", undefined, "undefined"],
    ["null", null, "null"],
    ["a symbol", Symbol("s"), "Symbol(s)"],
    ["an object", {}, "[object Object]"],
    ["an object without toString", Object.create(null), "threw a value that can't be shown"],
    [
      "a message that throws",
      Object.defineProperty({}, "message", {
        get: () => {
          throw new Error("again");
        },
      }),
      "threw a value that can't be shown",
    ],
    ["a failed fetch", fetchFailed, "fetch failed: connect ECONNREFUSED 127.0.0.1:9"],
    ["a cause that is said already", new Error("no: down", { cause: new Error("down") }), "no: down"],
    ["an error of ours with a cause", new TorenError("bug", "Do this.", { cause: new Error("below") }), "Do this."],
    ["a cause of causes", new Error("a", { cause: new Error("b", { cause: "c" }) }), "a: c"],
    ["several at once", new AggregateError([new Error("x"), new Error("x"), "y"], "All failed"), "All failed: x; y"],
    [
      "many at once",
      new AggregateError(Array.from({ length: 20 }, (_, i) => i)),
      "AggregateError: 0; 1; 2; 3; 4; 5; 6; 7; and 12 more",
    ],
  ])("of %s", (_, thrown, message) => {
    expect(messageOf(thrown)).toBe(message);
  });

  test("of a huge message is its start, not cut through a character", () => {
    const message = messageOf(new Error(`${"x".repeat(ERROR_MESSAGE_MAX_CHARS - 1)}😀${"y".repeat(20_000_000)}`));
    expect(message.length).toBe(ERROR_MESSAGE_MAX_CHARS);
    expect(message.isWellFormed()).toBe(true);
  });

  test("never throws and is never empty", () => {
    fc.assert(
      fc.property(fc.anything({ withNullPrototype: true, withBigInt: true, withSparseArray: true }), (thrown) => {
        expect(messageOf(thrown).trim()).not.toBe("");
      }),
      { numRuns: 500 },
    );
  });
});

describe("the table", () => {
  test("codes are words that fit into a URL", () => {
    for (const code of Object.keys(ERRORS)) expect(code).toMatch(/^[a-z]+(_[a-z]+)*(\.[a-z]+(_[a-z]+)*)?$/);
  });

  test("what an invocation ends leaves the stream unharmed; bugs are nobody's to retry", () => {
    expect(ERRORS.bug).toEqual({ reach: "bug", retryable: false });
    expect(ERRORS["database.unavailable"]).toEqual({ reach: "invocation", retryable: true });
    expect(ERRORS["model.unavailable"].retryable).toBe(true);
    expect(ERRORS["model.auth"].retryable).toBe(false);
  });

  test("the thrown form carries code, message and cause", () => {
    const cause = new Error("below");
    const thrown = new TorenError("not_found", "No such run.", { cause });
    expect(thrown.info).toEqual({ code: "not_found", message: "No such run." });
    expect(thrown.cause).toBe(cause);
    expect(thrown.name).toBe("TorenError");
  });
});
