import { expect, test } from "@jest/globals";
import { formatTraceparent, parseTraceparent } from "../../shared/core/traceparent.ts";

const TRACE_ID = "0af7651916cd43dd8448eb211c80319c";
const SPAN_ID = "b7ad6b7169203331";

test("a traceparent is read, and written as it was", () => {
  const text = `00-${TRACE_ID}-${SPAN_ID}-01`;
  const parsed = parseTraceparent(text);
  expect(parsed).toEqual({ traceId: TRACE_ID, spanId: SPAN_ID, flags: 1 });
  expect(parsed && formatTraceparent(parsed)).toBe(text);
});

test("a later version is read as far as this one goes, and goes on as version 00 with the one known flag", () => {
  const parsed = parseTraceparent(`cc-${TRACE_ID}-${SPAN_ID}-ff-what-the-future-brings`);
  expect(parsed).toMatchObject({ flags: 255 });
  expect(parsed && formatTraceparent(parsed)).toBe(`00-${TRACE_ID}-${SPAN_ID}-01`);
});

test.each([
  ["nothing", undefined],
  ["null", null],
  ["no ids", "00"],
  ["the reserved version", `ff-${TRACE_ID}-${SPAN_ID}-01`],
  ["more than version 00 has", `00-${TRACE_ID}-${SPAN_ID}-01-x`],
  ["upper case", `00-${TRACE_ID.toUpperCase()}-${SPAN_ID}-01`],
  ["a trace of zeros", `00-${"0".repeat(32)}-${SPAN_ID}-01`],
  ["a span of zeros", `00-${TRACE_ID}-${"0".repeat(16)}-01`],
  ["a short id", `00-${TRACE_ID.slice(1)}-${SPAN_ID}-01`],
  ["space around it", ` 00-${TRACE_ID}-${SPAN_ID}-01`],
  ["a book", `cc-${TRACE_ID}-${SPAN_ID}-01-${"x".repeat(1_000)}`],
])("%s is none", (_, text) => {
  expect(parseTraceparent(text)).toBeNull();
});
