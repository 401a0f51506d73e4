// What /v1/responses refuses of a request that has the right form, in its own words as far as they are known.
import type { Memory } from "./memory.ts";
import { fileProblem, firstOf, invalid, type Refusal, tooMuch } from "./refusal.ts";
import type { InputItem, ResponsesBody } from "./shape-responses.ts";
import { settingsProblem, traitsOf } from "./traits.ts";

type Rule = (body: ResponsesBody, memory: Memory) => Refusal | null;

export const responsesRefusal: Rule = (body, memory) => firstOf(RULES, (rule) => rule(body, memory));

const idOf = (item: InputItem): string | undefined => ("id" in item ? item.id : undefined);
const typeOf = (item: InputItem): string => item.type ?? "message";

const pairs: Rule = ({ input }) => {
  const open = new Set<string>();
  const seen = new Set<string>();
  const wrong = firstOf(input, (item) => {
    if (item.type === "function_call") {
      if (seen.has(item.call_id)) return invalid(`Duplicate call_id ${item.call_id}.`, "input");
      seen.add(item.call_id);
      open.add(item.call_id);
    }
    if (item.type !== "function_call_output" || open.delete(item.call_id)) return null;
    return invalid(`No tool call found for function call output with call_id ${item.call_id}.`, "input");
  });
  const [left] = open;
  return wrong ?? (left === undefined ? null : invalid(`No tool output found for function call ${left}.`, "input"));
};

const duplicates: Rule = ({ input }) => {
  const seen = new Set<string>();
  return firstOf(input, (item) => {
    const id = idOf(item);
    if (id === undefined) return null;
    if (seen.has(id))
      return invalid(
        `Duplicate item found with id ${id}. Remove duplicate items from your input and try again.`,
        "input",
      );
    seen.add(id);
    return null;
  });
};

const notFound = (id: string): Refusal => ({
  ...invalid(
    `Item with id '${id}' not found. Items are not persisted when \`store\` is set to false. Try again with \`store\` set to true, or remove this item from your input.`,
    "input",
  ),
  status: 404,
});

const reasoning: Rule = ({ model, input }, { items }) =>
  firstOf(input, (item, i) => {
    const id = idOf(item);
    if (id === undefined) return null;
    const issued = items.get(id);
    if (issued === undefined || issued.type !== typeOf(item)) return notFound(id);
    if (issued.requires !== null && !input.slice(0, i).some((before) => idOf(before) === issued.requires))
      return invalid(
        `Item '${id}' of type '${issued.type}' was provided without its required 'reasoning' item: '${issued.requires}'.`,
        "input",
      );
    if (item.type !== "reasoning") return null;
    if (typeof item.encrypted_content !== "string") {
      if (!issued.stored) return notFound(id);
    } else if (issued.encrypted !== item.encrypted_content || issued.model !== model)
      return invalid(`The encrypted content for item ${id} could not be verified.`, null, "invalid_encrypted_content");
    if (JSON.stringify(item.summary) !== issued.summary) return invalid(`Item '${id}' was changed.`, "input");
    const next = input[i + 1];
    return issued.next !== null && next !== undefined && idOf(next) === issued.next
      ? null
      : invalid(`Item '${id}' of type 'reasoning' was provided without its required following item.`, "input");
  });

const keeping: Rule = ({ model, include = [], store, background }) => {
  const encrypted = include.includes("reasoning.encrypted_content");
  if (encrypted && store) return invalid("Encrypted content cannot be requested for persisted responses.", "include");
  if (encrypted && !traitsOf(model).reasons)
    return invalid("Encrypted content is not supported with this model.", "include");
  return background && !store ? invalid("Background mode requires store to be true.", "store") : null;
};

const tools: Rule = ({ tools: offered, tool_choice: choice }) => {
  if (choice !== undefined && offered === undefined)
    return invalid("Tool choice is only allowed when `tools` are specified.", "tool_choice");
  const names = (offered ?? []).flatMap((tool) => (tool.type === "function" ? [String(tool.name)] : []));
  if (new Set(names).size < names.length) return invalid("Tool names must be unique.", "tools");
  return names.length > 128 ? invalid("Invalid 'tools': array too long.", "tools", "array_above_max_length") : null;
};

const settings: Rule = (body) => {
  const problem = settingsProblem(body.model, body, body.reasoning?.effort);
  if (problem !== null) return invalid(problem, "temperature", "unsupported_parameter");
  const phases = traitsOf(body.model).phases;
  return firstOf(body.input, (item, i) =>
    "phase" in item && item.phase !== undefined && !phases
      ? invalid("Unknown parameter: 'phase'.", `input[${i}].phase`)
      : null,
  );
};

const files: Rule = ({ model, input }) => {
  const { images } = traitsOf(model);
  let chars = 0;
  const wrong = firstOf(input, (item, i) =>
    firstOf(["content", "output"] as const, (member) => {
      const parts = (item as Record<string, unknown>)[member];
      return !Array.isArray(parts)
        ? null
        : firstOf(
            parts as { readonly type: string; readonly image_url?: string; readonly file_data?: string }[],
            (part, j) => {
              const url = part.image_url ?? part.file_data;
              if (url === undefined) return null;
              chars += url.length;
              return fileProblem(url, `input[${i}].${member}[${j}]`, images);
            },
          );
    }),
  );
  return wrong ?? tooMuch(chars);
};

const RULES: readonly Rule[] = [pairs, duplicates, reasoning, keeping, tools, settings, files];
