// The stack's template, as `cdk synth` writes it, fitted to an emulator: the stack itself has no switch for it. Everything that is changed is changed here. Pure.

export interface Resource {
  readonly Type: string;
  readonly Properties?: Readonly<Record<string, unknown>>;
  readonly DependsOn?: string | readonly string[];
}
export type Resources = Readonly<Record<string, Resource>>;
export interface Template {
  readonly Resources: Resources;
}

export const FUNCTIONS = ["tick", "task", "guardian", "dead-letter", "api", "events", "migrate"] as const;
export type FunctionName = (typeof FUNCTIONS)[number];

/** `environment`: what a function is told beside what the stack tells it. */
export function fitTemplate<T extends Template>(
  template: T,
  environment: (name: FunctionName) => Readonly<Record<string, string>>,
): T {
  const held = literalArns(template);
  const Resources = withoutIpv6Routes(
    mapped(held.Resources, (resource, logicalId) => {
      switch (resource.Type) {
        case "AWS::Lambda::Function":
          return told(resource, functionOf(logicalId), environment);
        case "AWS::EC2::Subnet":
          return without(resource, ["Ipv6CidrBlock", "AssignIpv6AddressOnCreation"]);
        case "AWS::ApiGateway::Method":
          return unstreamed(resource, Object.keys(held.Resources));
        default:
          return resource;
      }
    }),
  );
  return { ...held, Resources };
}

/** By the logical id that CDK makes of `Toren/Workers/dead-letter/Function`. Null: none of ours. */
export function functionOf(logicalId: string): FunctionName | null {
  const [, name] = /^Toren(?:Workers|Api)?([a-z]+)Function[0-9A-F]{8}$/.exec(logicalId) ?? [];
  return FUNCTIONS.find((one) => one.replace("-", "") === name) ?? null;
}

function told(
  resource: Resource,
  name: FunctionName | null,
  environment: (name: FunctionName) => Readonly<Record<string, string>>,
): Resource {
  if (name === null) return resource;
  const { Variables = {} } = (resource.Properties?.Environment ?? {}) as { Variables?: object };
  return given(resource, { Environment: { Variables: { ...Variables, ...environment(name) } } });
}

/** Emulators know no streamed answers. The API's own function answers such requests too, a page at a time. */
function unstreamed(resource: Resource, logicalIds: readonly string[]): Resource {
  const text = JSON.stringify(resource.Properties?.Integration ?? {});
  if (!text.includes("/response-streaming-invocations")) return resource;
  const [events = "", api = ""] = ["events", "api"].map((name) => logicalIds.find((id) => functionOf(id) === name));
  const { ResponseTransferMode: _, ...Integration } = JSON.parse(
    text
      .replace("path/2021-11-15/", "path/2015-03-31/")
      .replace("/response-streaming-invocations", "/invocations")
      .replaceAll(events, api),
  ) as Record<string, unknown>;
  return given(resource, { Integration });
}

/** Subnets have no IPv6 there, so nothing is routed. */
function withoutIpv6Routes(resources: Resources): Resources {
  const gone = new Set(
    Object.entries(resources).flatMap(([logicalId, { Type, Properties }]) =>
      Type === "AWS::EC2::Route" && Properties?.DestinationIpv6CidrBlock !== undefined ? [logicalId] : [],
    ),
  );
  const kept = Object.fromEntries(Object.entries(resources).filter(([logicalId]) => !gone.has(logicalId)));
  return mapped(kept, (resource) =>
    resource.DependsOn === undefined
      ? resource
      : { ...resource, DependsOn: [resource.DependsOn].flat().filter((logicalId) => !gone.has(logicalId)) },
  );
}

const UNMADE = /^AWS::(RDS|ECS)::/;
/** Whatever isn't made has the attribute `unknown`, which is no ARN: policies that name it would be refused. */
export const MASTER_SECRET_ARN = "arn:aws:secretsmanager:us-east-1:000000000000:secret:rds-master-000000";
export const CLUSTER_ARN = "arn:aws:ecs:us-east-1:000000000000:cluster/unknown";

function literalArns<T extends Template>(template: T): T {
  const walk = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(walk);
    if (typeof value !== "object" || value === null) return value;
    const [of, attribute] = ((value as Record<string, unknown>)["Fn::GetAtt"] ?? []) as string[];
    if (of !== undefined && attribute?.endsWith("Arn") && UNMADE.test(template.Resources[of]?.Type ?? ""))
      return attribute === "MasterUserSecret.SecretArn" ? MASTER_SECRET_ARN : CLUSTER_ARN;
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, walk(one)]));
  };
  return walk(template) as T;
}

const mapped = (resources: Resources, change: (resource: Resource, logicalId: string) => Resource): Resources =>
  Object.fromEntries(
    Object.entries(resources).map(([logicalId, resource]) => [logicalId, change(resource, logicalId)]),
  );

const given = (resource: Resource, properties: Readonly<Record<string, unknown>>): Resource => ({
  ...resource,
  Properties: { ...resource.Properties, ...properties },
});

const without = (resource: Resource, names: readonly string[]): Resource => ({
  ...resource,
  Properties: Object.fromEntries(Object.entries(resource.Properties ?? {}).filter(([name]) => !names.includes(name))),
});
