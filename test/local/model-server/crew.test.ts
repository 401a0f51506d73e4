import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "@jest/globals";
import { checkQuotes } from "../../../local/demo/quotes.ts";
import type { Json, JsonObject } from "../../../local/model-server/json.ts";
import { respond } from "../../../local/model-server/respond.ts";
import { stems } from "../../../local/model-server/words.ts";
import { FILE_TOOLS, textOf, user, work } from "./requests.ts";

const AGENT = new URL("../../../agents/research_crew/", import.meta.url);
const QUESTION = readFileSync(new URL("question.txt", AGENT), "utf8").trim();
const FILES = new Map(
  readdirSync(new URL("corpus/", AGENT))
    .filter((name) => name.endsWith(".txt"))
    .map((name) => [name, readFileSync(new URL(`corpus/${name}`, AGENT), "utf8").split("\n")]),
);
const LINES = [...FILES].flatMap(([file, lines]) =>
  lines.map((text, i) => ({ file, line: i + 1, text, words: new Set(stems(text)) })),
);
const SEARCH_HITS_COUNT = 10;

/** The file tools as plainly as they can be: rare words count most, long lines a little less. */
function run(name: string, args: JsonObject): Json {
  if (name === "list_files") return [...FILES].map(([file, lines]) => ({ id: file, name: file, lines: lines.length }));
  if (name === "search_files") return search(String(args.query));
  const from = Number(args.fromLine);
  const lines = FILES.get(String(args.file)) ?? [];
  const shown = lines.slice(from - 1, from - 1 + Number(args.lines));
  const header = `${args.file}, lines ${from}-${from + shown.length - 1} of ${lines.length}`;
  return [header, ...shown.map((text, i) => `${from + i}: ${text}`)].join("\n");
}

function search(query: string): Json {
  const rarity = new Map(
    stems(query).map((word) => [word, Math.log(LINES.length / (1 + LINES.filter((l) => l.words.has(word)).length))]),
  );
  return LINES.map(({ file, line, text, words }) => {
    const sum = [...rarity].reduce((total, [word, weight]) => total + (words.has(word) ? weight : 0), 0);
    return { hit: { file, line, text }, score: sum / (1 + text.length / 2_000) };
  })
    .filter(({ score }) => score > 0)
    .toSorted((a, b) => b.score - a.score)
    .slice(0, SEARCH_HITS_COUNT)
    .map(({ hit }) => hit);
}

function plan(question: string): string[] {
  const schema = {
    type: "object",
    required: ["topics"],
    properties: { topics: { type: "array", maxItems: 4, items: { type: "string" } } },
  };
  const format = { type: "json_schema", json_schema: { name: "plan", schema } };
  return (JSON.parse(textOf(respond(user(question, { response_format: format })))) as { topics: string[] }).topics;
}

describe("a crew of planner, researchers and writer on the corpus", () => {
  const topics = plan(QUESTION);
  const research = topics.map((topic) => ({ topic, ...work(topic, FILE_TOOLS, run) }));

  test("the planner splits the question into the things that it asks", () => {
    expect(topics).toHaveLength(3);
  });

  test("each researcher takes three calls: two with tools, then the answer", () => {
    expect(research.map(({ rounds }) => rounds.length)).toEqual(topics.map(() => 2));
  });

  test("the answer has exact quotes from three files or more, and names them", () => {
    const findings = research.map(({ topic, text }) => ({ topic, notes: text }));
    const answer = textOf(respond(user(JSON.stringify({ question: QUESTION, findings }))));
    const check = checkQuotes(answer, (file) => FILES.get(file));
    expect(check.quotes.filter((quote) => !quote.ok)).toEqual([]);
    const files = [...new Set(check.quotes.map((quote) => quote.file))];
    expect(files.length).toBeGreaterThanOrEqual(3);
    expect(answer.slice(answer.indexOf("Sources:")).split("\n- ").slice(1)).toEqual(files);
  });

  test("what the files say nothing about is not answered", () => {
    expect(work("What is the weather in Paris?", FILE_TOOLS, run).text).toMatch(/^Nothing was found/);
  });
});

describe("the corpus", () => {
  test("is a hundred pages or more in eight documents or more, a paragraph a line", () => {
    const texts = [...FILES.values()].map((lines) => lines.join("\n"));
    expect(texts.length).toBeGreaterThanOrEqual(8);
    expect(texts.reduce((sum, text) => sum + text.length, 0)).toBeGreaterThanOrEqual(300_000);
    for (const text of texts) expect(text).not.toMatch(/\r|\t|<\/?\w+>|&\w+;/);
  });
});
