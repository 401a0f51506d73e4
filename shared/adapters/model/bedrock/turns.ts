// The conversation as Converse takes it: roles take turns, the user's first and last, every use of a tool has one result in the turn after it, nothing is
// blank. Reasoning goes back only to the model that wrote it, and only where it is taken.
import type { ContentBlock, ToolResultContentBlock, Message as WireMessage } from "@aws-sdk/client-bedrock-runtime";
import type { AssistantPart } from "../../../core/messages.ts";
import { emptyInput, emptyResult } from "../../../core/task/texts.ts";
import type { ReadyMessage, ReadyToolResult, ShownFile, TextPart } from "../media.ts";
import { createFileBlocks, type FileBlocks } from "./files.ts";
import { signedBlock } from "./reasoning.ts";
import type { Traits } from "./traits.ts";

type Document = ContentBlock.ToolUseMember["toolUse"]["input"];
type ResultBlock = ContentBlock.ToolResultMember;

interface UserTurn {
  readonly role: "user";
  results: ResultBlock[];
  rest: ContentBlock[];
}
interface AssistantTurn {
  readonly role: "assistant";
  blocks: ContentBlock[];
}
type Turn = UserTurn | AssistantTurn;

/** Stands where a result should, if a history holds none: every model refuses a use without one. */
const NO_RESULT = "There is no result of this call.";
/** The model's turn between results and words, where a model takes only one of them in a turn. */
const SEEN = "I have seen the results.";
/** The user's turn after a model's last one: newer models don't continue their own words. */
const GO_ON = "Go on.";

export interface TurnOptions {
  readonly traits: Traits;
  /** The id of the model that is asked. */
  readonly model: string;
  /** Whether reasoning may go back. */
  readonly reasoning: boolean;
  /** Files to be said in words. */
  readonly refused: ReadonlySet<ShownFile>;
}

export interface WireTurns {
  readonly messages: WireMessage[];
  /** Of each block of reasoning, what it was written after (reasoning.ts). */
  readonly written: ReadonlyMap<ContentBlock, string>;
  /** Which block shows which file. */
  readonly shown: ReadonlyMap<object, ShownFile>;
}

export function wireTurns(messages: readonly ReadyMessage[], options: TurnOptions): WireTurns {
  const written = new Map<ContentBlock, string>();
  const files = createFileBlocks(options.refused);
  const turns = paired(inTurns(messages, options, files, written));
  if (turns[0]?.role !== "user") turns.unshift({ role: "user", results: [], rest: [{ text: emptyInput() }] });
  if (turns.at(-1)?.role !== "user") turns.push({ role: "user", results: [], rest: [{ text: GO_ON }] });
  return { messages: turns.flatMap((turn) => wire(turn, options.traits)), written, shown: files.shown };
}

/** Blank messages are left out, and what then stands side by side becomes one turn. */
function inTurns(
  messages: readonly ReadyMessage[],
  options: TurnOptions,
  files: FileBlocks,
  written: Map<ContentBlock, string>,
): Turn[] {
  const turns: Turn[] = [];
  for (const message of messages) {
    const turn =
      message.role === "assistant"
        ? assistantTurn(message.content, options, written)
        : userTurn(message.content, options.traits, files);
    const last = turns.at(-1);
    if (turn.role === "user" && last?.role === "user") {
      last.results.push(...turn.results);
      last.rest.push(...turn.rest);
    } else if (turn.role === "assistant" && last?.role === "assistant") last.blocks.push(...turn.blocks);
    else if (turn.role === "user" ? turn.results.length + turn.rest.length > 0 : turn.blocks.length > 0)
      turns.push(turn);
  }
  return turns;
}

function assistantTurn(
  content: readonly AssistantPart[],
  { traits, model, reasoning }: TurnOptions,
  written: Map<ContentBlock, string>,
): AssistantTurn {
  const blocks = content.flatMap((part): ContentBlock[] => {
    if (part.type === "text") return part.text.trim() === "" ? [] : [{ text: part.text }];
    if (part.type === "toolUse")
      return [{ toolUse: { toolUseId: part.id, name: part.name, input: part.args as Document } }];
    const signed = reasoning && traits.takesReasoning ? signedBlock(part, model) : null;
    if (signed === null) return [];
    written.set(signed.block, signed.prefix);
    return [signed.block];
  });
  const end = blocks.findLastIndex((block) => block.reasoningContent === undefined); // a turn can't end in reasoning
  return { role: "assistant", blocks: blocks.slice(0, end + 1) };
}

function userTurn(
  content: readonly (TextPart | ShownFile | ReadyToolResult)[],
  traits: Traits,
  files: FileBlocks,
): UserTurn {
  const results: ResultBlock[] = [];
  const rest: ContentBlock[] = [];
  for (const part of content) {
    if (part.type === "file") rest.push(...files.of(part));
    else if (part.type === "text") rest.push(...(part.text.trim() === "" ? [] : [{ text: part.text }]));
    else {
      const { toolUseId, text, isError } = part;
      const shown: ToolResultContentBlock[] = [{ text: text.trim() === "" ? emptyResult() : text }];
      for (const file of part.shown) {
        if (file.type === "text") shown.push({ text: file.text });
        else if (file.kind === "image" ? traits.imagesInResults : traits.pdfInResults) shown.push(...files.of(file));
        else rest.push({ text: `Shown by the tool call ${toolUseId}:` }, ...files.of(file));
      }
      const status = traits.resultStatus ? { status: isError ? ("error" as const) : ("success" as const) } : {};
      results.push({ toolResult: { toolUseId, content: shown, ...status } });
    }
  }
  return { role: "user", results, rest };
}

/** Results in the order of the calls before them, one each. A result of no call is kept as words. */
function paired(turns: readonly Turn[]): Turn[] {
  const out: Turn[] = [];
  for (const [i, turn] of turns.entries()) {
    if (turn.role === "assistant") {
      out.push(turn);
      if (turns[i + 1] === undefined && usesOf(turn).length > 0)
        out.push(matched({ role: "user", results: [], rest: [] }, usesOf(turn)));
      continue;
    }
    const before = turns[i - 1];
    out.push(matched(turn, before?.role === "assistant" ? usesOf(before) : []));
  }
  return out;
}

const usesOf = ({ blocks }: AssistantTurn): string[] => blocks.flatMap((block) => block.toolUse?.toolUseId ?? []);

function matched({ results, rest }: UserTurn, uses: readonly string[]): UserTurn {
  const given = new Map(results.toReversed().map((block) => [block.toolResult.toolUseId ?? "", block]));
  const wanted = uses.map((id): ResultBlock => {
    const found = given.get(id);
    given.delete(id);
    return found ?? { toolResult: { toolUseId: id, content: [{ text: NO_RESULT }] } };
  });
  const orphans = [...given.values()]
    .reverse()
    .flatMap(({ toolResult }) =>
      (toolResult.content ?? []).flatMap(({ text }) => (text === undefined ? [] : [{ text }])),
    );
  const words = [...orphans, ...rest];
  return { role: "user", results: wanted, rest: wanted.length + words.length === 0 ? [{ text: emptyInput() }] : words };
}

function wire(turn: Turn, traits: Traits): WireMessage[] {
  if (turn.role === "assistant") return [{ role: "assistant", content: turn.blocks }];
  const { results, rest } = turn;
  if (traits.textBesideResults || results.length === 0 || rest.length === 0)
    return [{ role: "user", content: [...results, ...rest] }];
  return [
    { role: "user", content: results },
    { role: "assistant", content: [{ text: SEEN }] },
    { role: "user", content: rest },
  ];
}
