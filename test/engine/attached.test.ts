// What a tool shows to the model beside text.
import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import { createScriptedModel } from "../../shared/adapters/model/script.ts";
import { toolParts } from "../../shared/core/tool-parts.ts";
import { startRun } from "../../shared/engine/start-run.ts";
import type { AskContext, Model } from "../../shared/ports/model.ts";
import { role, tool } from "../support/agents.ts";
import { AGENT, type EngineTest, engineTest } from "./support.ts";

let t: EngineTest;
beforeAll(async () => {
  t = await engineTest();
});
afterEach(async () => await t.reset());
afterAll(async () => await t.close());
const MAIN = { kind: "role", role: "main" } as const;

describe("what a tool shows", () => {
  const run = async (parts: (fileId: string) => Parameters<typeof toolParts>[0], mediaType = "image/png") => {
    const contexts: AskContext[] = [];
    const scripted = createScriptedModel((r) =>
      r.messages.length === 1 ? { tools: [{ name: "show", args: {} }] } : "seen",
    );
    const model: Model = {
      ask: (request, signal, context) => {
        if (context !== undefined) contexts.push(context);
        return scripted.ask(request, signal, context);
      },
    };
    let fileId = "";
    const show = tool("show", () => toolParts(parts(fileId)));
    const stack = t.stack([role("main", { tools: [show] })], MAIN, { model: { ...model, ledger: scripted.ledger } });
    const content = new TextEncoder().encode(`pixels ${mediaType}`);
    fileId = (await stack.deps.files.add({ name: "plan", mediaType, content })).id;
    const started = await startRun(stack.deps, { agent: AGENT, input: "x", files: [fileId] });
    if (started.type === "refused") throw new Error(started.error.message);
    const row = await stack.drive({ agent: AGENT, runId: started.runId });
    return {
      row,
      fileId,
      contexts,
      result: scripted.ledger[1]?.request.messages.at(-1)?.content[0],
      runId: started.runId,
    };
  };

  test("an attached image goes with the result, by its id; its content is there for whoever sends it", async () => {
    const { row, fileId, result, contexts, runId } = await run((id) => [
      { type: "text", text: "The plan:" },
      { type: "image", fileId: id },
    ]);
    expect(row?.status).toBe("completed");
    const media = [{ type: "media", kind: "image", fileId, mediaType: "image/png", name: "plan" }];
    expect(result).toMatchObject({ type: "toolResult", text: "The plan:", isError: false, media });
    expect(await t.payloads(runId, "ToolCallCompleted")).toMatchObject([{ result: "The plan:", media }]);
    expect(new TextDecoder().decode((await contexts[1]?.media(fileId)) ?? undefined)).toBe("pixels image/png");
  });

  test.each([
    ["a file that isn't attached", () => [{ type: "image", fileId: "f_none" }] as const, /no file f_none is attached/],
    [
      "a PDF as an image",
      (id: string) => [{ type: "pdf", fileId: id }] as const,
      /image\/png, which can't be shown as pdf/,
    ],
  ])("%s: the model is told", async (_, parts, says) => {
    const { row, result } = await run(parts);
    expect(row?.status).toBe("completed");
    expect(result).toMatchObject({ isError: true, text: expect.stringMatching(says) });
  });
});
