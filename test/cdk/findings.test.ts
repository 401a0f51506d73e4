// AWS' own rule pack over every kind of installation: each finding is answered where the resource is made, with its reason, or the stack isn't synthesised.
import { describe, expect, jest, test } from "@jest/globals";
import { type App, Stack, Validations } from "aws-cdk-lib";
import { Bucket } from "aws-cdk-lib/aws-s3";
import { AwsSolutionsChecks } from "cdk-nag";
import { ASKING_AGENTS, appWith, INSTALLATIONS, stackWith } from "./support.ts";

/** What the rule pack says, and whether it let the stack pass. */
function checked(make: (app: App) => Stack): { readonly passed: boolean; readonly said: string } {
  const lines: string[] = [];
  const heard = jest.spyOn(console, "error").mockImplementation((line: unknown) => void lines.push(String(line)));
  try {
    const app = appWith();
    make(app);
    Validations.of(app).addPlugins(new AwsSolutionsChecks());
    app.synth();
    return { passed: true, said: lines.join("\n") };
  } catch (e) {
    return { passed: false, said: `${lines.join("\n")}\n${String(e)}` };
  } finally {
    heard.mockRestore();
  }
}

describe("AWS' rule pack", () => {
  test("finds what nobody has answered", () => {
    const { passed, said } = checked((app) => {
      const stack = new Stack(app, "Toren");
      new Bucket(stack, "Bucket");
      return stack;
    });
    expect(passed).toBe(false);
    expect(said).toContain("AwsSolutions-S10");
  });

  test.each([
    ...Object.entries(INSTALLATIONS),
    ["agents that ask Bedrock", stackWith({ agents: ASKING_AGENTS })] as const,
  ])("has nothing to say of an installation: %s", (_, make) => {
    expect(checked(make)).toEqual({ passed: true, said: expect.not.stringContaining("AwsSolutions-") });
  });
});
