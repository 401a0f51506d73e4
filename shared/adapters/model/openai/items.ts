// A conversation as the Responses API wants it: items. Reasoning goes back with the items that followed it, each under its id, or is left out and they have none:
// the API refuses one without the other, and finds by an id only what it keeps.
import type OpenAI from "openai";
import { canonical, type Json, toJson } from "../../../core/json.ts";
import type { AssistantPart, ToolUsePart } from "../../../core/messages.ts";
import { emptyResult } from "../../../core/task/texts.ts";
import { inWords, type ReadyMessage, type ReadyToolResult, type ShownFile, type TextPart } from "../media.ts";
import { dataUrl, fileName, shownBy } from "./files.ts";
import type { LeftOut } from "./leave-out.ts";
import { canGoBack, type Note, readNote } from "./reasoning.ts";

export type InputItem = OpenAI.Responses.ResponseInputItem;
type Content =
  | OpenAI.Responses.ResponseInputText
  | OpenAI.Responses.ResponseInputImage
  | OpenAI.Responses.ResponseInputFile;

export interface ItemsOptions {
  readonly model: string;
  /** The provider keeps this answer, so it may look up what it kept before. */
  readonly storing: boolean;
  /** Results of tools may hold files; else a message of the user's follows with them. */
  readonly filesInResults: boolean;
  readonly leftOut: LeftOut;
}

export interface Items {
  readonly input: readonly InputItem[];
  /** By their places, in the words of the provider's errors: `input[0].content[1]`. */
  readonly files: ReadonlyMap<string, ShownFile>;
  /** Something stands in it that only its provider can read. */
  readonly reasoning: boolean;
}

/** One item of an answer of the model's. */
type Entry =
  | { readonly kind: "item"; readonly item: Readonly<Record<string, Json>>; readonly fits: boolean }
  | { readonly kind: "message"; readonly next: Next; text: string }
  | { readonly kind: "call"; readonly next: Next; readonly use: ToolUsePart };
type Next = Extract<Note, { readonly kind: "next" }> | null;

export function itemsOf(messages: readonly ReadyMessage[], options: ItemsOptions): Items {
  const input: InputItem[] = [];
  const files = new Map<object, ShownFile>();
  const ids = new Set<string>();
  let reasoning = false;
  for (const message of messages) {
    if (message.role === "user") input.push(...userItems(message.content, options, files));
    else {
      const { entries, lost } = entriesOf(message.content, options);
      const whole = !lost && isWhole(entries, ids);
      reasoning ||= whole;
      input.push(...entries.flatMap((entry) => answerItem(entry, whole)));
    }
  }
  return { input, files: placesOf(input, files), reasoning };
}

function placesOf(input: readonly InputItem[], files: ReadonlyMap<object, ShownFile>): Map<string, ShownFile> {
  const places = new Map<string, ShownFile>();
  for (const [i, item] of input.entries())
    for (const member of ["content", "output"] as const) {
      const parts: unknown = (item as unknown as Readonly<Record<string, unknown>>)[member];
      for (const [j, part] of Array.isArray(parts) ? parts.entries() : []) {
        const file = files.get(part as object);
        if (file !== undefined) places.set(`input[${i}].${member}[${j}]`, file);
      }
    }
  return places;
}

/** `lost`: an item of the answer isn't sent: a blank text, or a call that was never run. */
function entriesOf(
  content: readonly AssistantPart[],
  { model, storing, leftOut }: ItemsOptions,
): { readonly entries: Entry[]; readonly lost: boolean } {
  const entries: Entry[] = [];
  let next: Next = null;
  let lost = false;
  for (const part of content) {
    if (part.type === "opaque") {
      const note = leftOut.reasoning ? null : readNote(part, model);
      lost ||= note !== null && next !== null;
      if (note?.kind === "next") next = note;
      else if (note?.kind === "item") entries.push({ kind: "item", item: note.item, fits: canGoBack(note, storing) });
      continue;
    }
    const last = entries.at(-1);
    if (part.type === "toolUse") entries.push({ kind: "call", next, use: part });
    else if (last?.kind === "message" && next === null) last.text += part.text;
    else if (part.text.trim() !== "") entries.push({ kind: "message", next, text: part.text });
    next = null;
  }
  return { entries, lost: lost || next !== null };
}

/** Every item of reasoning can go back, and something follows it; every other item has an id that no other has. */
function isWhole(entries: readonly Entry[], ids: Set<string>): boolean {
  if (!entries.some(({ kind }) => kind === "item")) return false;
  const own = entries.map((entry) => (entry.kind === "item" ? String(entry.item.id ?? "") : (entry.next?.id ?? "")));
  const fits = entries.every((entry) => entry.kind !== "item" || entry.fits) && !isReasoning(entries.at(-1));
  if (!fits || own.some((id) => id === "" || ids.has(id)) || new Set(own).size < own.length) return false;
  for (const id of own) ids.add(id);
  return true;
}

const isReasoning = (entry: Entry | undefined): boolean => entry?.kind === "item" && entry.item.type === "reasoning";

function answerItem(entry: Entry, whole: boolean): InputItem[] {
  if (entry.kind === "item") return whole ? [entry.item as unknown as InputItem] : []; // as it came
  const { next } = entry;
  const phase = next?.phase ? { phase: next.phase as "commentary" } : {};
  if (entry.kind === "call") {
    const { id: call_id, name, args } = entry.use;
    const call = { type: "function_call" as const, call_id, name, arguments: argumentsOf(args, next) };
    return [whole && next !== null ? { ...call, id: next.id } : call];
  }
  if (!whole || next === null) return [{ type: "message", role: "assistant", content: entry.text, ...phase }];
  const content = [{ type: "output_text" as const, text: entry.text, annotations: [] }];
  return [{ type: "message", role: "assistant", id: next.id, status: "completed", content, ...phase }];
}

/** The text that the model wrote, as long as it means what the log says: what it thought next was after that text. */
function argumentsOf(args: Json, next: Next): string {
  const own = canonical(args);
  if (next?.arguments == null) return own;
  try {
    return canonical(toJson(JSON.parse(next.arguments))) === own ? next.arguments : own;
  } catch {
    return own;
  }
}

function userItems(
  parts: Extract<ReadyMessage, { role: "user" }>["content"],
  options: ItemsOptions,
  files: Map<object, ShownFile>,
): InputItem[] {
  const results: InputItem[] = [];
  const said: Content[] = [];
  for (const part of parts) {
    if (part.type === "toolResult") results.push(resultItem(part, options, files, said));
    else said.push(...contentOf(part, options, files));
  }
  if (said.length === 0) return results;
  const [only] = said;
  const content = said.length === 1 && only?.type === "input_text" ? only.text : said;
  return [...results, { type: "message", role: "user", content }];
}

function resultItem(
  { toolUseId, text, shown }: ReadyToolResult,
  options: ItemsOptions,
  files: Map<object, ShownFile>,
  said: Content[],
): InputItem {
  const content = shown.flatMap((part) => contentOf(part, options, files));
  const words = text.trim() !== "" ? text : content.length === 0 ? emptyResult() : "";
  const result = { type: "function_call_output" as const, call_id: toolUseId };
  if (content.length === 0) return { ...result, output: words };
  if (options.filesInResults)
    return { ...result, output: [...(words === "" ? [] : [{ type: "input_text" as const, text: words }]), ...content] };
  said.push({ type: "input_text", text: shownBy(toolUseId) }, ...content);
  return { ...result, output: words === "" ? emptyResult() : words };
}

function contentOf(part: TextPart | ShownFile, { leftOut }: ItemsOptions, files: Map<object, ShownFile>): Content[] {
  if (part.type === "text") return part.text.trim() === "" ? [] : [{ type: "input_text", text: part.text }];
  const reason = leftOut.files.get(part);
  if (reason !== undefined) return [{ type: "input_text", text: inWords(part, reason).text }];
  const content: Content =
    part.kind === "image"
      ? { type: "input_image", image_url: dataUrl(part), detail: "auto" }
      : { type: "input_file", filename: fileName(part), file_data: dataUrl(part) };
  files.set(content, part);
  return [content];
}
