import { expect, test } from "@jest/globals";
import { createAgents } from "../../../local/load/registry.ts";
import type { Deployed } from "../../../shared/ports/agents.ts";
import { agent } from "../../support/agents.ts";

const deployed = (name: string, generation: number): Deployed => ({
  generation,
  agent: { ...agent(name, [], { kind: "role", role: "none" }), codeHash: `h${generation}` },
});

test("I7: serves the newest code of each agent; who looked before keeps what it has", () => {
  const agents = createAgents([deployed("b", 1), deployed("a", 4)]);
  expect(agents.names()).toEqual(["a", "b"]);
  expect(agents.get("c")).toBeNull();
  const before = agents.get("b");
  agents.replace(deployed("b", 2));
  agents.replace(deployed("c", 1));
  expect(before?.generation).toBe(1);
  expect(agents.get("b")?.generation).toBe(2);
  expect(agents.names()).toEqual(["a", "b", "c"]);
});
