// Templates of the stack as the CDK command line makes them: with the feature flags of cdk.json, and without building bundles.
import { App, type AppProps } from "aws-cdk-lib";
import { Template } from "aws-cdk-lib/assertions";
import { torenStack } from "../../cdk/app.ts";
import { read } from "../repo/files.ts";

export interface Resource {
  readonly Type: string;
  readonly Properties: Record<string, unknown>;
  readonly DependsOn?: string | readonly string[];
  readonly DeletionPolicy?: string;
  readonly UpdateReplacePolicy?: string;
  readonly Metadata?: Record<string, unknown>;
}
export type Resources = Readonly<Record<string, Resource>>;

export const PROFILES = ["small", "production"] as const;

const flags = (): Record<string, unknown> =>
  (JSON.parse(read("cdk.json")) as { context: Record<string, unknown> }).context;

/** An app with these options, as `-c name=value` gives them. */
export function appWith(context: Record<string, unknown> = {}, props: Omit<AppProps, "context"> = {}): App {
  return new App({ ...props, context: { ...flags(), "aws:cdk:bundling-stacks": [], ...context } });
}

const made = new Map<string, Template>();

/** Of one set of options once a test file: making a template takes a second. */
export function templateOf(context: Record<string, unknown> = {}): Template {
  const key = JSON.stringify(context);
  const known = made.get(key);
  if (known !== undefined) return known;
  const template = Template.fromStack(torenStack(appWith(context), null));
  made.set(key, template);
  return template;
}

export const resourcesOf = (template: Template): Resources => (template.toJSON() as { Resources: Resources }).Resources;

/** Resources of a type, by their logical ids. */
export const ofType = (template: Template, type: string): [string, Resource][] =>
  Object.entries(resourcesOf(template)).filter(([, resource]) => resource.Type === type);
