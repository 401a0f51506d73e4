// A call as it came: its arguments are an object, given as text (by some servers as it is).
import { canonical, toJson } from "../../../core/json.ts";
import type { ToolUsePart } from "../../../core/messages.ts";

/** Nothing at all is an empty object. Anything else the model is told about. */
export function toolUse(id: string, name: string, given: unknown): ToolUsePart {
  const text = typeof given === "string" ? given : canonical(toJson(given));
  try {
    const args = text.trim() === "" ? {} : (toJson(JSON.parse(text)) ?? {});
    if (typeof args === "object" && !Array.isArray(args)) return { type: "toolUse", id, name, args };
  } catch {
    // not JSON, or nested too deeply
  }
  return { type: "toolUse", id, name, args: {}, malformed: text };
}
