// Values that fast-check should try everywhere: text and keys that broke systems like this one (c1, c2, c19), and JSON made of them.
import fc from "fast-check";
import type { Json } from "../../shared/core/json.ts";

const units = fc.constantFrom(
  "\u0000",
  "\uD83D",
  "\uDE00",
  "\uD83D\uDE00",
  "\uE0FF",
  "\uFF5E",
  "\uFFFD",
  "\\u0000",
  "0000",
  "d83d",
  "blob",
  '"',
  "\\",
  "\n",
  "é",
  "a",
  "",
);

/** UTF-16 text of any kind, lone surrogates included. */
export const text: fc.Arbitrary<string> = fc.oneof(
  fc.array(units, { maxLength: 6 }).map((parts) => parts.join("")),
  fc.string({ maxLength: 12 }),
  fc.array(fc.nat(0xffff), { maxLength: 6 }).map((codes) => String.fromCharCode(...codes)),
);

export const key: fc.Arbitrary<string> = fc.oneof(
  text,
  fc.constantFrom(
    "__proto__",
    "constructor",
    "toString",
    "hasOwnProperty",
    "10",
    "9",
    "-1",
    "01",
    "4294967295",
    "length",
  ),
);

const number = fc.oneof(
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.integer(),
  fc.constantFrom(-0, 1e21, 1e-7),
);

const { value } = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, depthSize: "small", withCrossShrink: true },
    fc.constantFrom(null, true, false),
    number,
    text,
    fc.array(tie("value"), { maxLength: 4 }),
    fc.array(fc.tuple(key, tie("value")), { maxLength: 5 }).map(objectOf),
  ),
}));

/** Any JSON value, `-0` included, keys in any order. */
export const json: fc.Arbitrary<Json> = value;

/** An object whose keys are data, `__proto__` too. */
export function objectOf(entries: readonly (readonly [string, Json])[]): Json {
  return Object.fromEntries(entries);
}

/** The same value with its keys put in the opposite order, at all levels. */
export function reversed(of: Json): Json {
  if (Array.isArray(of)) return of.map(reversed);
  if (of === null || typeof of !== "object") return of;
  return objectOf(
    Object.entries(of)
      .reverse()
      .map(([name, item]) => [name, reversed(item)] as const),
  );
}

/** `[[[…]]]` or `{"k":{"k":…}}`, `levels` deep. */
export function nested(levels: number, wrap: (inner: Json) => Json, inner: Json = 1): Json {
  let result = inner;
  for (let i = 0; i < levels; i++) result = wrap(result);
  return result;
}
