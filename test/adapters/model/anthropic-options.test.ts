import { describe, expect, it } from "@jest/globals";
import { checkAnthropicOptions } from "../../../shared/adapters/model/anthropic/options.ts";
import type { Json } from "../../../shared/core/json.ts";

const check = (model: string, options: Json): string | null => checkAnthropicOptions(model, options);

describe("options of a role on anthropic/", () => {
  it("may be what the model takes", () => {
    for (const [model, options] of [
      ["claude-sonnet-5-5", {}],
      ["claude-sonnet-5-5", { thinking: { type: "between_tools" } }],
      [
        "claude-opus-5-5",
        { thinking: { type: "adaptive", display: "summarized" }, output_config: { effort: "xhigh" } },
      ],
      ["claude-opus-5", { thinking: { type: "disabled" }, output_config: { effort: "high" } }],
      ["claude-haiku-4-5-20251001", { temperature: 0 }],
      ["claude-sonnet-4-5", { thinking: { type: "enabled", budget_tokens: 2_048 } }],
      ["claude-opus-4-5", { output_config: { effort: "medium" }, tool_choice: { type: "any" } }],
      [
        "claude-nova-9",
        { temperature: 1, thinking: { type: "enabled", budget_tokens: 1_024 }, output_config: { effort: "max" } },
      ],
      [
        "claude-opus-5-5",
        {
          tools: [{ type: "web_search_20250305", name: "web_search", max_uses: 3 }],
          stop_sequences: ["END"],
          service_tier: "auto",
        },
      ],
    ] as const)
      expect([model, check(model, options)]).toEqual([model, null]);
  });

  it("are refused for what the model refuses, in a sentence", () => {
    for (const [model, options, words] of [
      [
        "claude-opus-5-5",
        { thinking: { type: "disabled" } },
        'it refuses thinking of type "disabled"; it takes "adaptive"',
      ],
      [
        "claude-sonnet-5",
        { thinking: { type: "enabled", budget_tokens: 4_096 } },
        'it refuses thinking of type "enabled"',
      ],
      ["claude-haiku-4-5-20251001", { thinking: { type: "adaptive" } }, 'it refuses thinking of type "adaptive"'],
      ["claude-opus-4-7", { temperature: 1 }, "it refuses temperature, top_p and top_k"],
      ["claude-fable-5-2", { top_k: 3 }, "it refuses temperature, top_p and top_k"],
      ["claude-sonnet-4-5-20250929", { temperature: 0.1, top_p: 0.9 }, "temperature or top_p, not both"],
      [
        "claude-sonnet-4-5",
        { temperature: 0.1, thinking: { type: "enabled", budget_tokens: 2_048 } },
        "no temperature but 1",
      ],
      [
        "claude-opus-4-6",
        { temperature: 0.1, thinking: { type: "adaptive" } },
        "with thinking it takes no temperature but 1",
      ],
      ["claude-opus-4-6", { top_k: 5, thinking: { type: "adaptive" } }, "with thinking it takes no top_k"],
      ["claude-opus-4-6", { top_p: 0.9, thinking: { type: "adaptive" } }, "no top_p below 0.95"],
      [
        "claude-haiku-5-5",
        { tool_choice: { type: "any" }, thinking: { type: "adaptive" } },
        'with thinking it takes no tool_choice of type "any"',
      ],
      ["claude-sonnet-5-5", { tool_choice: { type: "tool", name: "look" } }, 'it refuses a tool_choice of type "tool"'],
      ["claude-sonnet-4-5", { output_config: { effort: "low" } }, "it knows no effort"],
      [
        "claude-opus-4-6",
        { output_config: { effort: "xhigh" } },
        'it knows no effort "xhigh"; it takes low, medium, high, max',
      ],
      [
        "claude-opus-5",
        { thinking: { type: "disabled" }, output_config: { effort: "max" } },
        "can't leave out thinking",
      ],
    ] as const)
      expect(check(model, options)).toContain(words);
  });

  it("are refused for their form, whatever the model", () => {
    for (const [options, words] of [
      [{ temperatur: 1 }, 'must not have "temperatur"'],
      [{ model: "x" }, 'must not have "model"'],
      [{ stream: false }, 'must not have "stream"'],
      [{ max_tokens: 5 }, 'must not have "max_tokens"'],
      [{ output_config: { format: {} } }, 'must not have "format"'],
      [{ thinking: { type: "enabled", budget_tokens: 100 } }, "thinking.budget_tokens"],
      [{ tools: [{ name: "look", input_schema: {} }] }, "tools[0].type"],
      [{ stop_sequences: ["\n"] }, "stop_sequences[0]: must have a character that isn't blank"],
      [
        { tools: [{ type: "web_search_20250305", name: "web_search", cache_control: { type: "ephemeral" } }] },
        "cache_control: is set here",
      ],
      [[], "the options"],
      ["warm", "the options"],
    ] as const)
      expect(check("claude-nova-9", options)).toContain(words);
  });
});
