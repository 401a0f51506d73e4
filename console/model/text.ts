// Text from outside as a page may show it. It is never markup; what is left to do is what it could do as text: hide, reorder, or fill the screen.

const HIDDEN =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]/g;

/** Control characters, and those that turn the direction of writing, by their numbers; tabs and new lines stay. */
export const shown = (text: string): string =>
  text.replaceAll("\r\n", "\n").replaceAll(HIDDEN, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);

/** In one line, and not longer than that. */
export function brief(text: string, chars: number): string {
  const line = shown(text.slice(0, chars * 4))
    .replaceAll(/\s+/g, " ")
    .trim();
  const cut = [...line];
  return cut.length > chars ? `${cut.slice(0, chars - 1).join("")}…` : line;
}

/** Any JSON as people read it: text as it is, the rest indented. */
export const readable = (value: unknown): string =>
  typeof value === "string" ? value : (JSON.stringify(value, null, 2) ?? "");
