import { expect, test } from "@jest/globals";
import { serveAgents } from "../../functions/agents.ts";
import { optional, required } from "../../functions/aws-environment.ts";
import type { BundledAgent } from "../../functions/bundled-agents.ts";
import { parseAgentYaml } from "../../shared/authoring/agent-yaml.ts";

const YAML = `name: crew
description: Works.
roles:
  plain: { system: Work., model: openai/gpt-5-mini }
  patient: { system: Work., model: openai/gpt-5-mini, runtime: long }
  alone: { system: Work., model: openai/gpt-5-mini, isolate: true }
processes: { main: { role: plain } }
`;
const { config } = parseAgentYaml(YAML, "agent.yaml", "crew");
if (config === null) throw new Error("bug: the agent is a good one");
const bundled: BundledAgent = { config, prompts: {}, tools: null, workflows: {}, code: "", torenVersion: "0" };

test.each([
  ["there may be workers without a time limit", true, { plain: undefined, patient: "long", alone: "solo" }],
  [
    "there are none: long roles are worked on like all others",
    false,
    { plain: undefined, patient: undefined, alone: "solo" },
  ],
])("where %s", async (_, longLane, lanes) => {
  const served = await serveAgents([bundled], { generationOf: async () => 1 }, {}, longLane);
  const roles = served.get("crew")?.agent.roles ?? new Map();
  expect(Object.fromEntries([...roles].map(([name, { lane }]) => [name, lane]))).toEqual(lanes);
});

test("the stack says that there are none, and nothing where some are started or kept running", () => {
  expect(required({ TOREN_LONG_LANE: "none" }, "longLane")).toBe(false);
  expect(required({}, "longLane")).toBe(true);
  expect(() => required({ TOREN_LONG_LANE: "some" }, "longLane")).toThrow("TOREN_LONG_LANE");
  expect(optional({ TOREN_LONG_LANE: "none" }, "longTasks")).toBeNull();
});
