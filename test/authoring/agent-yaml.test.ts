import { describe, expect, test } from "@jest/globals";
import { type AgentFile, parseAgentYaml } from "../../shared/authoring/agent-yaml.ts";
import { problemText } from "../../shared/authoring/problem.ts";

const parse = (text: string, agent = "crew"): AgentFile => parseAgentYaml(text, "agents/crew/agent.yaml", agent);
const problems = (text: string, agent?: string): string[] => parse(text, agent).problems.map(problemText);

const HEAD = "name: crew\ndescription: Works.\ndefaults: { model: mock/script }\n";

describe("what agent.yaml means", () => {
  test("roles with the file's defaults", () => {
    const { config, problems: none } = parse(`
name: crew
description: Works.
env: [CRM_URL]
defaults: { model: anthropic/claude-sonnet-5, maxTokens: 100 }
roles:
  planner:
    system: Plan.
    outputSchema: { type: object }
  writer: { system: { file: prompts/writer.md }, model: openai/gpt-5, maxTokens: 7, tools: [read_file], options: { top_p: 1 } }
processes:
  short: { role: writer }
`);
    expect(none).toEqual([]);
    expect(config).toMatchObject({
      name: "crew",
      env: ["CRM_URL"],
      roles: [
        {
          name: "planner",
          model: "anthropic/claude-sonnet-5",
          maxTokens: 100,
          system: { text: "Plan." },
          outputSchema: { type: "object" },
        },
        {
          name: "writer",
          model: "openai/gpt-5",
          maxTokens: 7,
          system: { file: "prompts/writer.md" },
          tools: ["read_file"],
          options: { top_p: 1 },
        },
      ],
      processes: [{ name: "short", role: "writer" }],
    });
  });

  test("one role's keys at the top level are the role main", () => {
    const { config } = parse(`${HEAD}system: Answer.\ntools: [read_file]\nmaxSteps: 3\n`);
    expect(config?.roles).toMatchObject([
      { name: "main", system: { text: "Answer." }, tools: ["read_file"], maxSteps: 3, model: "mock/script" },
    ]);
  });

  test("anchors, block texts and comments are YAML's", () => {
    const { config, problems: none } = parse(`${HEAD}roles:
  a: &a
    system: |
      One.
      Two.
  b: *a # the same
`);
    expect(none).toEqual([]);
    expect(config?.roles.map(({ name, system }) => [name, system])).toEqual([
      ["a", { text: "One.\nTwo.\n" }],
      ["b", { text: "One.\nTwo.\n" }],
    ]);
  });
});

describe("what is wrong with it, with the line", () => {
  const line = (n: number, message: string): string => `agents/crew/agent.yaml:${n}: ${message}`;

  test("a broken text", () => {
    expect(problems("name: crew\nroles:\n  a: {system: x\n")).toEqual([
      expect.stringMatching(/^agents\/crew\/agent\.yaml:[34]: Flow map/),
    ]);
    expect(problems("name: crew\n\tdescription: x\n")[0]).toMatch(/^agents\/crew\/agent\.yaml:2: Tabs/);
    expect(problems("name: crew\nname: crew\n")[0]).toBe(line(2, "Map keys must be unique"));
    expect(problems("name: !secret crew\n")[0]).toMatch(/:1: Unresolved tag: !secret/);
  });

  test("an empty text, or one that is no object", () => {
    expect(problems("# nothing\n")).toEqual([
      "agents/crew/agent.yaml: the file is empty: write at least name, description and system",
    ]);
    expect(problems("- crew\n")).toEqual([
      "agents/crew/agent.yaml: the file must be an object of keys: write at least name, description and system",
    ]);
  });

  test("aliases that explode", () => {
    const bomb = `a: &a [x,x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\n`;
    expect(problems(bomb)[0]).toMatch(/Excessive alias count/);
  });

  test("unknown keys, on every level, with what was likely meant", () => {
    expect(
      problems(`${HEAD}roles:
  planner:
    sytem: x
    system: Plan.
    maxStep: 4
  writer:
    system: { file: prompts/writer.md, encoding: utf8 }
proceses: {}
defaults2: {}
`),
    ).toEqual([
      line(6, 'unknown key "sytem" in roles.planner; did you mean "system"?'),
      line(8, 'unknown key "maxStep" in roles.planner; did you mean "maxSteps"?'),
      line(10, 'unknown key "encoding" in roles.writer.system; there is file'),
      line(11, 'unknown key "proceses"; did you mean "processes"?'),
      line(12, 'unknown key "defaults2"; did you mean "defaults"?'),
    ]);
  });

  test("keys and values of later versions say so", () => {
    const { problems: later } = parse(`${HEAD}roles:
  a: { system: x, runtime: long, isolate: true, mcp: {} }
processes:
  chat: { role: a }
mcp: {}
`);
    expect(later.map(({ code, line: at, message }) => [code, at, message])).toEqual(
      [
        [5, "roles.a.mcp"],
        [8, "mcp"],
      ].map(([at, key]) => ["not_in_this_version", at, `${key} is not in this version: remove the key`]),
    );
  });

  test("how long runs are kept is a length of time", () => {
    expect(parse(`${HEAD}system: x\nretention: 30d\n`).config).toMatchObject({ retention: 30 * 86_400_000 });
    for (const wrong of ["30", "0d", "a while", "-1d"])
      expect(parse(`${HEAD}system: x\nretention: "${wrong}"\n`).problems).toMatchObject([
        { message: expect.stringContaining("must be a length of time") },
      ]);
  });

  test("what an author says about models, and bounds", () => {
    const { config, problems: none } = parse(`${HEAD}system: x
models:
  mock/script: { maxInFlight: 20, tokensPerMinute: 80000 }
  openai/own: { contextWindow: 8192, maxOutput: 1024, price: { input: 0.2, output: 0.8, cacheRead: 0 } }
limits: { maxParallel: 8, maxCostUsd: 2.5, totalTokens: 400000 }
`);
    expect(none).toEqual([]);
    expect(config).toMatchObject({
      roles: [{ name: "main" }],
      models: {
        "mock/script": { maxInFlight: 20, tokensPerMinute: 80_000 },
        "openai/own": { contextWindow: 8_192, maxOutput: 1_024, price: { input: 0.2, output: 0.8, cacheRead: 0 } },
      },
      limits: { maxParallel: 8, maxCostUsd: 2.5, totalTokens: 400_000 },
    });
    expect(parse(`${HEAD}system: x\n`).config).toMatchObject({ models: {}, limits: {} });
  });

  test("wrong words about models and bounds", () => {
    expect(
      problems(`${HEAD}system: x
maxParallel: 3
models:
  gpt: { maxInFlight: 1 }
  openai/a: { maxInFligth: 1, price: { in: 1, input: 1, output: 1 } }
limits: { maxTokens: 5 }
`),
    ).toEqual([
      line(5, "maxParallel stands at the top level, where it bounds nothing: move it into limits"),
      line(7, 'models: the name "gpt" must be "provider/name", as in "openai/gpt-5-mini"'),
      line(8, 'unknown key "in" in models.openai/a.price; there is input, output, cacheRead, cacheWrite'),
      line(8, 'unknown key "maxInFligth" in models.openai/a; did you mean "maxInFlight"?'),
      line(9, 'unknown key "maxTokens" in limits; there is maxParallel, maxCostUsd, totalTokens'),
    ]);
    expect(
      problems(`${HEAD}system: x
models:
  openai/a: { maxInFlight: 0, tokensPerMinute: 1.5, price: { input: -1 } }
limits: { maxParallel: 1000001, maxCostUsd: 0 }
`),
    ).toEqual([
      line(6, "models.openai/a.maxInFlight must be more than 0"),
      line(6, "models.openai/a.tokensPerMinute must be a whole number, not a fraction"),
      line(6, "models.openai/a.price.input must be at least 0"),
      line(6, "models.openai/a.price.output is missing"),
      line(7, "limits.maxParallel must be at most 1000000"),
      line(7, "limits.maxCostUsd must be more than 0"),
    ]);
  });

  test("what becomes of a call whose worker died", () => {
    for (const policy of ["retry", "fail", "ask"]) {
      const { config, problems } = parse(`${HEAD}system: x\nonUnknownOutcome: ${policy}\n`);
      expect(problems).toEqual([]);
      expect(config).toMatchObject({ roles: [{ onUnknownOutcome: policy }] });
    }
    expect(parse(`${HEAD}system: x\nonUnknownOutcome: hope\n`).problems).toMatchObject([
      { code: "agent.invalid", line: 5 },
    ]);
  });

  test("sessions, and lengths of time", () => {
    const { config, problems } = parse(
      `${HEAD}system: x\nmode: session\napprovalTimeout: 15m\nprocesses:\n  chat: { role: main, mode: session }\n`,
    );
    expect(problems).toEqual([]);
    expect(config).toMatchObject({
      mode: "session",
      roles: [{ approvalTimeout: 900_000 }],
      processes: [{ name: "chat", role: "main", mode: "session" }],
    });
    expect(parse(`${HEAD}system: x\napprovalTimeout: soon\n`).problems[0]?.message).toContain("15m");
  });

  test("wrong values, all at once", () => {
    expect(
      problems(`name: Crew
description: ""
env: [crm-url]
defaults: { model: gpt-5 }
roles:
  a:
    system: 5
    maxSteps: 0
    tools: read_file
  b: { system: { file: ../secrets.txt } }
  c: { model: mock/script }
processes: { x: { role: 1 } }
`),
    ).toEqual([
      line(1, "name must be lower-case letters, digits and _, a letter first, at most 41 characters"),
      line(2, "description is empty"),
      line(3, "env[0] must be the name of an environment variable"),
      line(4, 'defaults.model must be "provider/name", as in "openai/gpt-5-mini"'),
      line(7, "roles.a.system must be a text or { file: prompts/<name>.md }"),
      line(8, "roles.a.maxSteps must be more than 0"),
      line(9, "roles.a.tools must be a list, not a text"),
      line(10, "roles.b.system.file must be a path inside the agent's folder, as in prompts/writer.md"),
      line(11, "roles.c.system is missing: write the prompt, or { file: prompts/<name>.md }"),
      line(12, "processes.x.role must be a text, not a number"),
    ]);
  });

  test("missing keys point at what they are missing from", () => {
    expect(problems("name: crew\nroles:\n  a:\n    system: x\n")).toEqual([line(1, "description is missing")]);
    expect(problems("name: crew\ndescription: x\nroles:\n  a:\n    system: x\n")).toEqual([
      line(4, 'role "a" has no model: give it one, or set defaults.model for all'),
    ]);
    expect(problems(`${HEAD}tools: [read_file]\n`)).toEqual([
      line(4, "system is missing: write the prompt, or { file: prompts/<name>.md }"),
    ]);
  });

  test("contradictions", () => {
    expect(problems(`${HEAD}system: x\n`, "other")).toEqual([
      line(1, 'name is "crew", the folder is "other": make them equal'),
    ]);
    expect(
      problems(`${HEAD}model: mock/script
maxSteps: 3
roles:
  planner: { system: x }
  Writer: { system: x }
processes: { Long: { role: planer } }
`),
    ).toEqual([
      line(4, "model stands beside roles, where it belongs to none: move it into a role, or into defaults"),
      line(5, "maxSteps stands beside roles, where it belongs to none: move it into a role"),
      line(8, 'role "Writer": a name must be lower-case letters, digits and _, a letter first, at most 41 characters'),
      line(9, 'process "Long": a name must be lower-case letters, digits and _, a letter first, at most 41 characters'),
      line(9, 'processes.Long: there is no role "planer"; did you mean "planner"?'),
    ]);
    expect(problems(`${HEAD}roles: {}\n`)).toEqual([
      line(4, "roles is empty: name at least one, or leave the key out"),
    ]);
  });
});

test("a role or process named __proto__ is refused like any other wrong name", () => {
  expect(
    problems(`${HEAD}roles:\n  a: { system: x }\n  __proto__: { system: y }\nprocesses: { __proto__: { role: a } }\n`),
  ).toEqual([
    expect.stringMatching(/:6: role "__proto__": a name must be/),
    expect.stringMatching(/:7: process "__proto__": a name must be/),
  ]);
});

test("the YAML library's advice for programmers is left out, and a file that is no YAML gives a bounded list", () => {
  expect(problems("a: 1\n---\nb: 2\n").join()).not.toMatch(/please use/i);
  expect(problems("a: [\n".repeat(500)).length).toBeLessThanOrEqual(20);
});
