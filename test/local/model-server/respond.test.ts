import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { checkQuotes } from "../../../local/demo/quotes.ts";
import type { JsonObject } from "../../../local/model-server/json.ts";
import { respond } from "../../../local/model-server/respond.ts";
import { FILE_TOOLS, request, textOf, tool, user, work } from "./requests.ts";

const string = { type: "string" };

const BRIDGES = [
  "Bridges",
  "A suspension bridge hangs its deck from cables. The cables carry the load to the towers.",
  'An arch bridge pushes its load outwards. Builders say "the arch never sleeps" for that reason.',
];
const TUNNELS = ["Tunnels", "A tunnel is lined with concrete rings. Water is pumped out of the tunnel day and night."];
const FILES = new Map([
  ["bridges.txt", BRIDGES],
  ["tunnels.txt", TUNNELS],
]);

function run(name: string, args: JsonObject) {
  if (name === "list_files") return [...FILES.keys()].map((file) => ({ id: file, name: file }));
  if (name === "read_file") {
    const lines = FILES.get(String(args.file)) ?? [];
    return [`${args.file}, lines 1-3 of 3`, ...lines.map((text, i) => `${i + 1}: ${text}`)].join("\n");
  }
  const words = String(args.query).toLowerCase().split(" ");
  return [...FILES].flatMap(([file, lines]) =>
    lines.flatMap((text, i) =>
      words.some((word) => text.toLowerCase().includes(word)) ? [{ file, line: i + 1, text }] : [],
    ),
  );
}

describe("with tools", () => {
  test("it looks and searches in two ways, reads around the best hits, then answers", () => {
    const { rounds, text } = work("What carries the load of a suspension bridge?", FILE_TOOLS, run);
    expect(rounds).toEqual([
      [
        "list_files {}",
        'search_files {"query":"carries load suspension bridge"}',
        'search_files {"query":"suspension carries"}',
      ],
      ['read_file {"file":"bridges.txt","fromLine":1,"lines":16}'],
    ]);
    expect(text).toContain('"The cables carry the load to the towers." (bridges.txt:2)');
  });

  test("a place is given as a line where a tool counts lines, and never as an offset in something else", () => {
    const readers: [JsonObject, RegExp][] = [
      [
        { fromChar: { type: "integer" }, fromLine: { type: "integer" } },
        /^read_file {"file":"bridges.txt","fromLine":1}$/,
      ],
      [
        { startByte: { type: "integer" }, offset: { type: "integer" } },
        /^read_file {"file":"bridges.txt","offset":1}$/,
      ],
      [{ fromChar: { type: "integer" } }, /^read_file {"file":"bridges.txt"}$/],
    ];
    for (const [optional, expected] of readers) {
      const tools = [...FILE_TOOLS.slice(0, 2), tool("read_file", { file: { type: "string" } }, optional)];
      const { rounds } = work("What carries the load of a suspension bridge?", tools, run);
      expect(rounds[1]).toEqual([expect.stringMatching(expected)]);
    }
  });

  test("a search that found nothing is tried again in other words, and then it says so", () => {
    const { rounds, text } = work("Where do penguins sleep?", [FILE_TOOLS[1] as JsonObject], () => []);
    expect(rounds.flat()).toEqual([
      'search_files {"query":"penguins sleep"}',
      'search_files {"query":"penguins"}',
      'search_files {"query":"sleep"}',
    ]);
    expect(text).toContain("Nothing was found");
  });

  test("it never makes the same call twice, and answers after three rounds whatever the tools say", () => {
    const { rounds } = work("Which bridge is older?", FILE_TOOLS, () => ({ error: "try again later" }));
    expect(rounds.length).toBeLessThanOrEqual(3);
    expect(new Set(rounds.flat()).size).toBe(rounds.flat().length);
  });

  test("a tool of another kind is called once when the task names it, its arguments taken from the task", () => {
    const send = tool("send_email", { to: { type: "string" }, urgent: { type: "boolean" } });
    const { rounds, text } = work("Send an urgent email to ada@example.org", [send], () => "sent");
    expect(rounds).toEqual([['send_email {"to":"ada@example.org","urgent":true}']]);
    expect(text).toBe("send_email answered: sent");
    expect(work("Write a poem", [send], () => "sent").rounds).toEqual([]);
  });

  test("a tool that looks at one thing comes before those that change it; ids, amounts and patterns come from the task", () => {
    const id = { type: "string", pattern: "^[A-Z]-\\d{4}$" };
    const amount = { type: "number", exclusiveMinimum: 0 };
    const desk = [tool("refund_order", { orderId: id, amount }), tool("get_order", { orderId: id })];
    const { rounds, text } = work("Please refund 2 lamps of order A-1001, 19.90 euros", desk, (name) => `${name} did`);
    expect(rounds).toEqual([['get_order {"orderId":"A-1001"}'], ['refund_order {"orderId":"A-1001","amount":19.9}']]);
    expect(text).toBe("get_order answered: get_order did\nrefund_order answered: refund_order did");
    expect(work("What is an order?", [tool("get_order", { orderId: string })], () => "x").rounds).toEqual([]);
    expect(work("Where is order B-77?", [tool("get_order", { orderId: string })], () => "x").rounds).toEqual([
      ['get_order {"orderId":"B-77"}'],
    ]);
    expect(work("What time is it?", [tool("current_time", {})], () => "noon").text).toBe("current_time answered: noon");
  });

  test("arithmetic goes to a tool that takes an expression, and nothing else does", () => {
    const tools = [tool("calculate", { expression: string })];
    expect(work("What is 12 * (3 + 4), please?", tools, () => "84").rounds).toEqual([
      ['calculate {"expression":"12 * (3 + 4)"}'],
    ]);
    expect(work("Calculate my chances", tools, () => "no").rounds).toEqual([]);
  });

  test("tool_choice and parallel_tool_calls are obeyed", () => {
    const ask = (more: JsonObject) => respond(user("What is an arch bridge?", { tools: FILE_TOOLS, ...more }));
    expect(ask({ tool_choice: "none" }).kind).toBe("text");
    expect(ask({ parallel_tool_calls: false })).toMatchObject({ calls: [{ tool: "list_files" }] });
    const choice = { type: "function", function: { name: "read_file" } };
    expect(ask({ tool_choice: choice })).toMatchObject({ calls: [{ tool: "read_file" }] });
  });
});

describe("in a conversation", () => {
  test("what bears on the question of what the user said before is said again; nothing that doesn't", () => {
    const messages = (question: string) => [
      { role: "user", content: "My dog is called Rex." },
      { role: "assistant", content: "Noted." },
      { role: "user", content: "I live in Bern." },
      { role: "assistant", content: "Noted." },
      { role: "user", content: question },
    ];
    const ask = (question: string) => textOf(respond(request({ messages: messages(question) })));
    expect(ask("How is my dog called?")).toBe('You said before: "My dog is called Rex."');
    const asked = [...messages("How is my dog called?"), { role: "assistant", content: "Rex." }];
    const again = { messages: [...asked, { role: "user", content: "How is my dog called?" }] };
    expect(textOf(respond(request(again)))).toBe('You said before: "My dog is called Rex."');
    expect(ask("What is a lease?")).toContain("was given nothing to quote");
  });
});

describe("with a schema", () => {
  const withSchema = (text: string, schema: JsonObject) => {
    const format = { type: "json_schema", json_schema: { name: "out", schema } };
    return JSON.parse(textOf(respond(user(text, { response_format: format })))) as JsonObject;
  };

  test("a list of strings holds the parts of the question, in its own words", () => {
    const schema = { type: "object", properties: { topics: { type: "array", items: { type: "string" } } } };
    const question = "How are bridges built, what do they cost, and when is a tunnel better?";
    expect(withSchema(question, schema)).toEqual({
      topics: ["How are bridges built", "What do they cost (bridges built)", "When is a tunnel better"],
    });
    expect(withSchema("Compare bridges, tunnels and ferries", schema)).toEqual({
      topics: ["Bridges", "Tunnels", "Ferries"],
    });
  });

  test("maxItems and minItems are kept, and what does not fit stays in the last", () => {
    const list = (bounds: JsonObject) => ({ type: "array", items: { type: "string" }, ...bounds });
    expect(withSchema("What is a? How is bb? Why is cc?", list({ maxItems: 2 }))).toEqual(["How is bb", "Why is cc"]);
    expect(withSchema("What is aa? How is bb? Why is cc?", list({ maxItems: 2 }))).toEqual([
      "What is aa",
      "How is bb; Why is cc",
    ]);
    expect(withSchema("What is aa?", list({ minItems: 2 }))).toEqual(["What is aa", "What is aa (2)"]);
  });

  test("every required member is there, in its type", () => {
    const properties = {
      title: { type: "string", maxLength: 10 },
      count: { type: "integer", minimum: 1, maximum: 9 },
      kind: { enum: ["tunnel", "bridge"] },
      nested: { $ref: "#/$defs/nested" },
      maybe: { anyOf: [{ type: "null" }, { type: "number" }] },
    };
    const nested = { type: "object", properties: { ok: { type: "boolean" } }, required: ["ok"] };
    const schema = { type: "object", properties, required: Object.keys(properties), $defs: { nested } };
    expect(withSchema("Build 4 bridges of 200 m", schema)).toEqual({
      title: expect.stringMatching(/^.{1,10}$/),
      count: 4,
      kind: "bridge",
      nested: { ok: false },
      maybe: 4,
    });
  });
});

describe("the answer", () => {
  test("notes become one answer: a lead-in for each topic, the quotes as they are, the sources once", () => {
    const findings = [
      { topic: "Suspension", notes: 'On it:\n"The cables carry the load to the towers." (bridges.txt:2)' },
      { topic: "Tunnels", notes: '"A tunnel is lined with concrete rings." (tunnels.txt:2)' },
      { topic: "Ferries", notes: "Nothing was found." },
    ];
    const text = textOf(respond(user(JSON.stringify({ question: "How do people cross water?", findings }))));
    expect(text).toBe(
      [
        "On suspension, the sources say:",
        "",
        '"The cables carry the load to the towers." (bridges.txt:2)',
        "",
        "On tunnels, the sources say:",
        "",
        '"A tunnel is lined with concrete rings." (tunnels.txt:2)',
        "",
        "Nothing was found in what was read about this: Ferries.",
        "",
        "Sources:",
        "- bridges.txt",
        "- tunnels.txt",
      ].join("\n"),
    );
  });

  test("notes under plain headings work like notes in JSON", () => {
    const notes = '# Crossing\n\nCables:\n- "The cables carry the load to the towers." (bridges.txt:2)';
    expect(textOf(respond(user(notes)))).toContain("On cables, the sources say:");
  });

  test("a sentence with a quotation mark in it is not quoted", () => {
    const { text } = work("What never sleeps in an arch bridge, as builders say?", FILE_TOOLS, run);
    expect(text).not.toContain('never sleeps"');
    expect(checkQuotes(text, (file) => FILES.get(file)).ok).toBe(true);
  });

  test("every quote is an exact part of the line that it names, whatever the lines hold", () => {
    const word = fc.constantFrom(
      "bridge",
      "Cable",
      "load.",
      "e.g.",
      'say "so"',
      "(see",
      "1.2)",
      "Ends!",
      "…",
      "\\",
      "|",
    );
    const line = fc.array(word, { minLength: 3, maxLength: 30 }).map((words) => words.join(" "));
    fc.assert(
      fc.property(fc.array(line, { minLength: 1, maxLength: 8 }), (lines) => {
        const found = lines.map((text, i) => ({ file: "f.txt", line: i + 1, text }));
        const { text } = work("Which cable carries the load of a bridge?", FILE_TOOLS, () => found);
        const check = checkQuotes(text, () => lines);
        return check.ok || text.startsWith("Nothing was found");
      }),
    );
  });

  test("nothing to work on: it says that it is a rule-based model", () => {
    expect(textOf(respond(user("Hello there")))).toContain("rule-based");
  });

  test("max_completion_tokens cuts, and the answer says so", () => {
    const answer = respond(user("Hello there", { max_completion_tokens: 3 }));
    expect(answer).toMatchObject({ text: "This answer ", finishReason: "length", usage: { completion_tokens: 3 } });
  });

  test("the same request gets the same answer", () => {
    const ask = () => respond(user("What is an arch bridge?", { tools: FILE_TOOLS }));
    expect(ask()).toEqual(ask());
  });

  test("usage grows with what is sent", () => {
    const messages = [{ role: "user", content: "x".repeat(400) }];
    const { usage } = respond(request({ messages }));
    expect(usage.prompt_tokens).toBeGreaterThanOrEqual(100);
    expect(usage.total_tokens).toBe(usage.prompt_tokens + usage.completion_tokens);
  });
});
