// Tools as Messages takes them. Whatever of JSON Schema it refuses for a tool's input is said in the description instead: the engine checks arguments anyway.
import type Anthropic from "@anthropic-ai/sdk";
import { isObject, type Json } from "../../../core/json.ts";
import type { ToolSchema } from "../../../core/messages.ts";
import { namesFit, withSchemaInWords } from "../tool-words.ts";
import type { Turn } from "./conversation.ts";

const REFUSED_AT_ROOT = ["anyOf", "oneOf", "allOf"];

/** Stands for what a tool was that isn't offered any more. */
const GONE = "This tool was used earlier in this conversation, and can't be called any more.";

export interface WireTools {
  readonly tools: readonly Anthropic.Tool[];
  /** None is offered; those are there because the conversation shows their use. */
  readonly gone: boolean;
}

export function wireTools(tools: readonly ToolSchema[], turns: readonly Turn[]): WireTools {
  if (tools.length > 0) return { tools: tools.map(wireTool), gone: false };
  const names = turns.flatMap(({ content }) => content.flatMap((b) => (b.type === "tool_use" ? [b.name] : [])));
  const gone = [...new Set(names)].map((name) =>
    wireTool({ name, description: GONE, inputSchema: { type: "object" } }),
  );
  return { tools: gone, gone: gone.length > 0 };
}

function wireTool({ name, description, inputSchema }: ToolSchema): Anthropic.Tool {
  if (isTaken(inputSchema)) {
    const input_schema = inputSchema as unknown as Anthropic.Tool.InputSchema;
    return { name, ...(description.trim() === "" ? {} : { description }), input_schema };
  }
  return { name, description: withSchemaInWords(description, inputSchema), input_schema: { type: "object" } };
}

const isTaken = (schema: Json): boolean =>
  isObject(schema) && schema.type === "object" && !REFUSED_AT_ROOT.some((key) => key in schema) && namesFit(schema);
