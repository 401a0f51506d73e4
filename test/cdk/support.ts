// Templates of the stack as the CDK command line makes them: with the feature flags of cdk.json, and without building bundles.
import { App, type AppProps, Stack } from "aws-cdk-lib";
import { Template } from "aws-cdk-lib/assertions";
import { type IVpc, Vpc } from "aws-cdk-lib/aws-ec2";
import { torenStack } from "../../cdk/app.ts";
import { Toren, type TorenProps } from "../../cdk/toren.ts";
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

/** The agents of these tests: they ask models on Bedrock. */
export const ASKING_AGENTS = "test/cdk/agents";

const flags = (): Record<string, unknown> =>
  (JSON.parse(read("cdk.json")) as { context: Record<string, unknown> }).context;

/** An app with these options, as `-c name=value` gives them. */
export function appWith(context: Record<string, unknown> = {}, props: Omit<AppProps, "context"> = {}): App {
  return new App({ ...props, context: { ...flags(), "aws:cdk:bundling-stacks": [], ...context } });
}

const made = new Map<string, Template>();
const once = (key: string, make: () => Stack): Template => {
  const known = made.get(key);
  if (known !== undefined) return known;
  const template = Template.fromStack(make());
  made.set(key, template);
  return template;
};

/** Of one set of options once a test file: making a template takes a second. */
export const templateOf = (context: Record<string, unknown> = {}, region: string | null = null): Template =>
  once(JSON.stringify([context, region]), () => torenStack(appWith(context), region));

/** Every kind of installation: what a rule says of all of them is held against each. */
export const INSTALLATIONS: Readonly<Record<string, (app: App) => Stack>> = {
  "as it comes": (app) => torenStack(app, null),
  production: stackWith({ profile: "production", alarmEmail: "ops@example.com", budgetUsd: 100 }),
  "workers on Fargate": stackWith({ workers: "fargate", encryption: true }),
  "production, workers on Fargate": stackWith({ profile: "production", workers: "fargate" }),
  "a VPC of its user's": (app) => inVpc(app, (vpc) => ({ vpc })),
  "a database by its URL": stackWith({ database: { url: "postgres://toren@db.example.com/toren" } }),
  "a VPC and a database of its user's": (app) =>
    inVpc(app, (vpc) => ({ vpc, database: { url: "postgres://toren@db.example.com/toren" } })),
};

/** The template of an installation, once a test file. */
export const installation = (name: string): Template =>
  once(name, () => (INSTALLATIONS[name] as (app: App) => Stack)(appWith()));

export function stackWith(props: TorenProps, region = "us-east-1"): (app: App) => Stack {
  return (app) => {
    const stack = new Stack(app, "Toren", { env: { region } });
    new Toren(stack, "Toren", props);
    return stack;
  };
}

export function twoInOneStack(app: App): Stack {
  const stack = new Stack(app, "Both", { env: { region: "us-east-1" } });
  for (const name of ["One", "Other"]) new Toren(stack, name, { profile: "small" });
  return stack;
}

function inVpc(app: App, props: (vpc: IVpc) => TorenProps): Stack {
  const stack = new Stack(app, "Toren", { env: { region: "us-east-1" } });
  const vpc = Vpc.fromVpcAttributes(stack, "Theirs", {
    vpcId: "vpc-0123456789abcdef0",
    vpcCidrBlock: "10.9.0.0/16",
    availabilityZones: ["us-east-1a", "us-east-1b"],
    privateSubnetRouteTableIds: ["rtb-0123456789abcdef0", "rtb-0123456789abcdef1"],
    privateSubnetIds: ["subnet-0123456789abcdef0", "subnet-0123456789abcdef1"],
  });
  new Toren(stack, "Toren", props(vpc));
  return stack;
}

export const resourcesOf = (template: Template): Resources => (template.toJSON() as { Resources: Resources }).Resources;

/** Resources of a type, by their logical ids. */
export const ofType = (template: Template, type: string): [string, Resource][] =>
  Object.entries(resourcesOf(template)).filter(([, resource]) => resource.Type === type);

/** The only one of its type, or of those whose id has this part. */
export function only(template: Template, type: string, part = ""): Resource {
  const found = ofType(template, type).filter(([id]) => id.includes(part));
  if (found.length !== 1) throw new Error(`${found.length} of ${type} ${part}`);
  return found[0]?.[1] as Resource;
}

/** A part of a resource's properties, as the test knows that it is. */
export const property = <T>(resource: Resource, name: string): T => resource.Properties[name] as T;
