// Agents written by a test into a folder of its own, which is gone when the test is over.
import { cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll } from "@jest/globals";
import type { LoadOptions } from "../../../local/load/load-agents.ts";

export const FIXTURES = join(import.meta.dirname, "../../fixtures/agents");
const made: string[] = [];
afterAll(() => {
  for (const folder of made) rmSync(folder, { recursive: true, force: true });
});

export interface AgentFolder {
  readonly agents: string;
  readonly options: LoadOptions;
  /** Paths are relative to agents/. */
  write(path: string, text: string): void;
  remove(path: string): void;
  /** A fixture's copy. */
  copy(name: string): void;
}

export function agentFolder(env: Record<string, string> = {}): AgentFolder {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "toren-agents-")));
  made.push(root);
  const agents = join(root, "agents");
  mkdirSync(agents);
  return {
    agents,
    options: { env, cacheFolder: join(root, ".toren", "agents") },
    write: (path, text) => {
      mkdirSync(dirname(join(agents, path)), { recursive: true });
      writeFileSync(join(agents, path), text);
    },
    remove: (path) => rmSync(join(agents, path), { recursive: true }),
    copy: (name) => cpSync(join(FIXTURES, name), join(agents, name), { recursive: true }),
  };
}

export const YAML = (name: string, more = ""): string =>
  `name: ${name}\ndescription: Works.\ndefaults: { model: mock/script }\nsystem: Answer.\n${more}`;
