import { describe, expect, test } from "@jest/globals";
import { brief, readable, shown } from "../../../console/model/text.ts";

describe("text from outside", () => {
  test("keeps its lines and tabs; what would hide or turn it is shown by its number", () => {
    expect(shown("a\tb\r\nc")).toBe("a\tb\nc");
    expect(shown("\u0000\u001b[31mred\u202egnp.exe\u200b\u2066")).toBe(
      "\\u0000\\u001b[31mred\\u202egnp.exe\\u200b\\u2066",
    );
    expect(shown("<b>&amp;</b> 中文 👩‍💻é")).toContain("<b>&amp;</b> 中文");
  });

  test("in one line is cut between characters, and says so", () => {
    expect(brief("  a\n\n b ", 10)).toBe("a b");
    expect(brief("🙂🙂🙂🙂", 3)).toBe("🙂🙂…");
    expect(brief("x".repeat(1_000_000), 5)).toBe("xxxx…");
  });

  test("JSON is indented, and a text stays as it is", () => {
    expect(readable({ a: [1] })).toBe('{\n  "a": [\n    1\n  ]\n}');
    expect(readable("a\nb")).toBe("a\nb");
    expect(readable(undefined)).toBe("");
  });
});
