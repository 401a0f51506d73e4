import { describe, expect, test } from "@jest/globals";
import { isSentence, leansOnContext, sentences } from "../../../local/model-server/sentences.ts";

describe("splitting a line into sentences", () => {
  test("abbreviations and section numbers do not end one", () => {
    const line = "Use a file system, e.g. Ext4, as in Section 30.4. The rest follows. pg_dump dumps only one database.";
    expect(sentences(line)).toEqual([
      "Use a file system, e.g. Ext4, as in Section 30.4.",
      "The rest follows.",
      "pg_dump dumps only one database.",
    ]);
  });

  test("each is an exact part of the line, without its list marker", () => {
    expect(sentences("  - First  one.   Second!")).toEqual(["First  one.", "Second!"]);
  });

  test("headings, table rows and lead-ins to lists are no sentences", () => {
    expect(isSentence("Locks are released at the end of the transaction.")).toBe(true);
    for (const text of [
      "13.3. Explicit Locking of Rows and Tables in General",
      "Locks | are | released | at the end | of the transaction.",
      "These are the lock modes that can be asked for:",
    ]) {
      expect(isSentence(text)).toBe(false);
    }
  });

  test("a sentence that points back, or asks, leans on its neighbours", () => {
    expect(leansOnContext("Therefore, it is released.")).toBe(true);
    expect(leansOnContext("Normally, it is released.")).toBe(true);
    expect(leansOnContext("Which of them is released?")).toBe(true);
    expect(leansOnContext("Normally, a lock is released.")).toBe(false);
  });
});
