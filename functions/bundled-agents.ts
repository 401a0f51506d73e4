// The agents that a bundle holds. In the sources there are none: the build of the bundles (cdk/build.ts) puts a module in this file's place that
// imports the agents' code statically and has the rest of their folders inlined.
import type { AgentConfig } from "../shared/authoring/agent-schema.ts";

export interface BundledAgent {
  /** Of agent.yaml, as parseAgentYaml read it without a problem. */
  readonly config: AgentConfig;
  /** By the path that agent.yaml gives. */
  readonly prompts: Readonly<Record<string, string>>;
  /** The namespace of tools.ts; null: there is none. */
  readonly tools: Readonly<Record<string, unknown>> | null;
  /** Namespaces of workflows/<process>.ts, by process. */
  readonly workflows: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  /** The code without comments and places (`portable` of local/load/bundle.ts): equal code hashes alike on a laptop and here. */
  readonly code: string;
  /** Of package.json. */
  readonly torenVersion: string;
}

export const BUNDLED_AGENTS: readonly BundledAgent[] = [];
