// The files of a project that `toren init` makes: one small agent with a tool and a workflow, its test, and an app that deploys it.

export interface ProjectOptions {
  /** Of the package: what npm takes as one. */
  readonly name: string;
  /** What package.json says about Toren: a version, or a place. */
  readonly toren: string;
  /** Versions of what the project needs beside it, as Toren itself has them. */
  readonly versions: Readonly<
    Record<"zod" | "typescript" | "@types/node" | "aws-cdk" | "aws-cdk-lib" | "constructs", string>
  >;
}

/** Texts by path. */
export function projectFiles({ name, toren, versions }: ProjectOptions): ReadonlyMap<string, string> {
  const { zod, "aws-cdk-lib": cdkLib, constructs, typescript, "@types/node": types, "aws-cdk": cdk } = versions;
  const manifest = {
    name,
    version: "0.1.0",
    private: true,
    type: "module",
    engines: { node: ">=24" },
    scripts: { dev: "toren dev", test: "node --test", typecheck: "tsc", deploy: "cdk deploy" },
    dependencies: { "aws-cdk-lib": cdkLib, constructs, toren, zod },
    devDependencies: { "@types/node": types, "aws-cdk": cdk, typescript },
  };
  return new Map([
    ["package.json", json(manifest)],
    ["tsconfig.json", json(TSCONFIG)],
    ["cdk.json", json({ app: "node cdk.ts" })],
    [".gitignore", "node_modules/\n.toren/\ncdk.out/\n"],
    ["README.md", readme(name)],
    ["cdk.ts", CDK.replace("NAME", stackName(name))],
    ["agents/hello/agent.yaml", AGENT],
    ["agents/hello/tools.ts", TOOLS],
    ["agents/hello/workflows/main.ts", WORKFLOW],
    ["test/hello.test.ts", TEST],
  ]);
}

const json = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;

/** CloudFormation takes letters, digits and dashes, a letter first. */
const stackName = (name: string): string =>
  name.replaceAll(/[^a-zA-Z0-9-]+/g, "-").replace(/^[^a-zA-Z]+/, "") || "hello";

const TSCONFIG = {
  compilerOptions: {
    target: "es2024",
    lib: ["es2024", "esnext.disposable"],
    module: "nodenext",
    strict: true,
    noUncheckedIndexedAccess: true,
    exactOptionalPropertyTypes: true, // as Toren has it: its own types are read from source
    verbatimModuleSyntax: true,
    erasableSyntaxOnly: true,
    allowImportingTsExtensions: true,
    noEmit: true,
    skipLibCheck: true,
    types: ["node"],
  },
  include: ["agents", "test", "cdk.ts"],
};

const AGENT = `name: hello
description: Answers a question, and signs the answer with the date.
defaults: { model: openai/gpt-5-mini, maxTokens: 1000 }
roles:
  helper:
    system: Answer the question in two or three sentences. Use \`today\` when the date matters.
    tools: [today]
  editor:
    system: Make the text you are given shorter, and keep what it says.
`;

const TOOLS = `import { defineTool } from "toren";
import * as z from "zod";

export const today = defineTool({
  description: "Today's date, as in 2026-11-30.",
  input: z.object({}),
  effects: "none",
  idempotency: "none",
  approval: "never",
  handler: () => new Date().toISOString().slice(0, 10),
});
`;

const WORKFLOW = `import { defineWorkflow } from "toren";

export default defineWorkflow(async (ctx) => {
  const answer = await ctx.ask("helper", ctx.input);
  return await ctx.ask("editor", answer);
});
`;

const TEST = `import assert from "node:assert/strict";
import test from "node:test";
import { testAgent } from "toren/testing";

test("asks the helper, who looks up the date, then the editor", async () => {
  await using hello = await testAgent("agents/hello", {
    models: {
      helper: [{ tools: [{ name: "today", args: {} }] }, "It is Monday, and all is well."],
      editor: ({ text }) => \`In short: \${text}\`,
    },
  });
  const run = await hello.start("How are things?");
  assert.equal(await run.until("ended"), "completed");
  assert.equal((await run.result()).output, "In short: It is Monday, and all is well.");
  assert.equal(hello.modelCalls(), 3);
});
`;

const CDK = `// \`npm run deploy\` deploys agents/ to the AWS account that your shell is signed in to.
import { App, Stack } from "aws-cdk-lib";
import { Toren } from "toren/cdk";

const stack = new Stack(new App(), "NAME");
new Toren(stack, "Toren", { agents: "agents" });
`;

const readme = (name: string): string => `# ${name}

An agent on Toren: \`agents/hello\` has its prompts, a tool and a workflow.

\`\`\`sh
npm install
npx toren run hello "What is a write-ahead log?"
npm test
\`\`\`

Without a provider's key in the environment a rule-based demo model answers. Set OPENAI_API_KEY, or another model in \`agents/hello/agent.yaml\`, for a real one.

\`npx toren dev\` serves the agents, takes edits up as they are saved, and shows a console. \`npm run deploy\` deploys them to AWS.
`;
