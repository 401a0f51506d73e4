import { expect, test } from "@jest/globals";
import { asUnavailable } from "../../../shared/adapters/database/failures.ts";

const failure = (code: string): Error => Object.assign(new Error(`SQLSTATE ${code}`), { code });

test.each(["ECONNREFUSED", "57P03", "25006", "53100", "53200", "53300", "57014", "55P03", "40P01", "40001"])(
  "%s is no fault of the statement: the same may pass later",
  (code) => expect(asUnavailable(failure(code))).toMatchObject({ code: "database.unavailable" }),
);

test.each(["22021", "23505", "42P01", "42601"])("%s stays what it is", (code) => {
  const thrown = failure(code);
  expect(asUnavailable(thrown)).toBe(thrown);
});
