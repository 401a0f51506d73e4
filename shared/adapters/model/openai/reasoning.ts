// A model's reasoning in the log. It goes back whole, as it came, together with the items that followed it under their ids, or not at all: the API refuses
// one without the other. So what an answer's items were is kept in parts of its own, each before what it is about.
import { canonical, type Json, wellFormedJson } from "../../../core/json.ts";
import type { AssistantPart } from "../../../core/messages.ts";

export const PROVIDER = "openai";

export type OpaquePart = Extract<AssistantPart, { readonly type: "opaque" }>;
type Fields = Readonly<Record<string, Json>>;

/** Who wrote it, and whether the provider keeps it: what it keeps may lack its encrypted content, and is found by its id. */
export interface Origin {
  readonly model: string;
  readonly stored: boolean;
}

export type Note =
  /** Reasoning, or a call of one of the provider's own tools. `cut`: of an answer that broke off. */
  | { readonly kind: "item"; readonly item: Fields; readonly cut: boolean }
  /** What the text or the call after it was: its id, and of a call the arguments' own text. */
  | { readonly kind: "next"; readonly id: string; readonly phase: string | null; readonly arguments: string | null }
  /** Of chat completions: some servers want it back beside the calls that it led to. */
  | { readonly kind: "text"; readonly field: string; readonly text: string };

export const notePart = (note: Note, origin: Origin): OpaquePart => ({
  type: "opaque",
  provider: PROVIDER,
  data: { ...note, ...origin },
});

/** Null: the part is another provider's, or of another model. */
export function readNote(part: OpaquePart, model: string): (Note & Origin) | null {
  if (part.provider !== PROVIDER) return null;
  const { kind, model: by, stored = false, ...fields } = fieldsOf(part.data);
  if (by !== model || typeof stored !== "boolean") return null;
  const origin = { model, stored };
  const { item, cut, id, phase = null, arguments: text = null, field, text: said } = fields;
  if (kind === "item" && isFields(item)) return { kind, item, cut: cut === true, ...origin };
  if (kind === "next" && typeof id === "string" && isTextOrNull(phase) && isTextOrNull(text))
    return { kind, id, phase, arguments: text, ...origin };
  if (kind === "text" && typeof field === "string" && typeof said === "string")
    return { kind, field, text: said, ...origin };
  return null;
}

/** Without the text that the provider encrypts, it finds what it has kept by its id. `storing`: it keeps the answer that is asked for, too. */
export const canGoBack = ({ item, cut, stored }: Extract<Note, { kind: "item" }> & Origin, storing: boolean): boolean =>
  !cut &&
  isSendable(item) &&
  (item.type !== "reasoning" || typeof item.encrypted_content === "string" || (stored && storing));

/** Lone surrogates can't be sent as they came, and changed it is nothing that the provider knows. */
const isSendable = (item: Fields): boolean => canonical(item) === canonical(wellFormedJson(item));

const isTextOrNull = (value: Json): value is string | null => value === null || typeof value === "string";
const isFields = (value: Json | undefined): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const fieldsOf = (data: Json): Fields => (isFields(data) ? data : {});
