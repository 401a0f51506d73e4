import { describe, expect, test } from "@jest/globals";
import { booksLine, booksOf } from "../../../local/demo/books.ts";
import { editPrompt } from "../../../local/demo/edit.ts";
import { checkQuotes } from "../../../local/demo/quotes.ts";
import { type Ending, faults, reportJson, reportLines } from "../../../local/demo/report.ts";
import { styleOf } from "../../../local/terminal/style.ts";
import { wrap } from "../../../local/terminal/wrap.ts";
import type { RunJson } from "../../../shared/http/run-json.ts";

const receipt = { modelCalls: 11, replayed: 2, repaid: 0, unanswered: 2, savedTokens: 900, savedUsd: 0.001 };
const usage = { input: 1_000, cacheRead: 0, cacheWrite: 0, output: 200, reasoning: 0 };
const ledger = (billed: number, refused = 0) => [
  ...Array.from({ length: billed }, () => ({ status: 200 })),
  ...Array.from({ length: refused }, () => ({ status: 400 })),
];
const FILES = new Map([["a.txt", ["A commit is flushed to disk."]]]);
const ANSWER = 'So it is:\n\n"A commit is flushed to disk." (a.txt:1)';

function ending(answer = ANSWER, given: { run?: Partial<RunJson>; over?: Partial<Ending> } = {}): Ending {
  const run: RunJson = {
    runId: "0198abcd-0000-4000-8000-000000000000",
    agent: "research_crew",
    process: "main",
    mode: "task",
    status: "completed",
    error: null,
    generation: 1,
    attributes: {},
    modelCalls: 0,
    tokens: 0,
    retries: 0,
    forkedFrom: null,
    parent: null,
    children: [],
    childCount: 0,
    below: null,
    createdAt: "2026-01-01T00:00:00.000Z",
    endedAt: "2026-01-01T00:00:20.000Z",
    input: "How?",
    output: answer,
    wait: null,
    problem: null,
    reason: null,
    approvals: [],
    signals: [],
    cuts: [],
    turns: null,
    turnCount: null,
    budget: null,
    waves: [],
    usage,
    costUsd: 0.0123,
    simulated: true,
    receipt,
    ...given.run,
  };
  return {
    run,
    names: new Map(),
    kills: [],
    edited: null,
    books: booksOf(ledger(13), run.receipt),
    pids: [1, 2, 3],
    question: "How?",
    quotes: checkQuotes(answer, (file) => FILES.get(file)),
    modelPid: 4,
    stateFolder: ".toren/demo",
    embedded: true,
    kept: false,
    ...given.over,
  };
}

const plain = { style: styleOf({ write: () => {}, size: () => null, colour: false }), columns: 100, live: false };
const text = (of: Ending, page = plain): string => reportLines(of, page).join("\n");

describe("the books", () => {
  test("agree when every billed request is on record or was in flight", () => {
    const books = booksOf(ledger(13, 2), receipt);
    expect(books).toEqual({ ledger: 13, recorded: 11, inFlight: 2, repaid: 0, agree: true });
    expect(booksLine(books)).toBe(
      "server ledger 13 requests · log 11 recorded · 2 in flight, sent again · recorded answers re-paid 0",
    );
  });

  test.each([
    ["a request that the log doesn't know", ledger(14), receipt],
    ["an answer that the server doesn't know", ledger(12), receipt],
    ["a recorded answer that was paid again", ledger(13), { ...receipt, repaid: 1 }],
  ])("I5: don't agree with %s", (_what, entries, found) => {
    const books = booksOf(entries, found);
    expect(books.agree).toBe(false);
    expect(faults(ending(ANSWER, { run: { receipt: found }, over: { books } }))).toHaveLength(1);
  });
});

describe("the end", () => {
  test("is well when the run is completed, each quote right, and the books agree", () => {
    expect(faults(ending())).toEqual([]);
    expect(reportJson(ending())).toMatchObject({ ok: true, faults: [], quotes: { checked: 1, wrong: [] } });
    expect(text(ending())).toContain("✔ 1 quote checked: each stands verbatim at its file and line.");
    expect(text(ending())).toContain("simulated $0.0123");
  });

  test("is not with one wrong quote, which is shown", () => {
    const wrong = ending('"A commit is flushed to disk." (a.txt:1) "A commit is lost." (a.txt:1)');
    expect(faults(wrong)).toEqual(["1 quote can't be found where the answer says"]);
    expect(text(wrong)).toContain('✘ "A commit is lost." (a.txt:1): a.txt does not say this');
  });

  test("needs a quote of the rule-based model; of another one it is a note", () => {
    expect(faults(ending("Nothing."))).toEqual(["The answer quotes nothing, so that nothing could be checked"]);
    const other = ending("Nothing.", { over: { modelPid: null, books: null } });
    expect(faults(other)).toEqual([]);
    expect(text(other)).toContain("It quotes nothing that could be checked.");
    expect(text(other)).toContain("The model isn't ours, so there is no ledger to compare with.");
  });

  test("says why a run failed", () => {
    const failed = ending("", { run: { status: "failed", output: null, reason: "max_steps: no answer" } });
    expect(faults(failed)).toEqual(["The run failed: max_steps: no answer"]);
  });

  test.each([80, 100])("fits a terminal of %d columns, but for commands", (columns) => {
    const long = ending(`${"words and words ".repeat(30)}\n\n"A commit is flushed to disk." (a.txt:1)`);
    const lines = reportLines(long, { ...plain, columns, live: true });
    expect(lines.filter((line) => [...line].length > columns)).toEqual([]);
  });

  test("shows no control character that a model wrote", () => {
    expect(text(ending("\u001b[2Jgone"))).not.toContain("\u001b");
  });
});

describe("text", () => {
  test("is broken at spaces, and otherwise stays as it is", () => {
    expect(wrap("one two three", 8)).toEqual(["one two", "three"]);
    expect(wrap("a\n\n    indented  twice", 40)).toEqual(["a", "", "    indented  twice"]);
    expect(wrap("a-very-long-path/of/a.txt b", 8)).toEqual(["a-very-long-path/of/a.txt", "b"]);
    expect(wrap("    an indent with a word", 8)).toEqual(["    an", "indent", "with a", "word"]);
  });

  test("an edited prompt has one line more, before its first rule", () => {
    const edit = editPrompt("You write.\n\n- Be exact.\n- Be kind.\n");
    expect(edit).toEqual({
      text: `You write.\n\n${edit.added}\n- Be exact.\n- Be kind.\n`,
      added: expect.stringMatching(/^- /),
      line: 3,
    });
    expect(editPrompt("You write.").text).toBe(`You write.\n${edit.added}\n`);
  });
});
