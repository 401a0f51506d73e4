// Rights, one statement at a time. Whoever needs a wildcard says why: the reason goes to AWS' rule pack too.
import { Stack } from "aws-cdk-lib";
import { type Conditions, type IRole, PolicyStatement } from "aws-cdk-lib/aws-iam";
import { acknowledge } from "./findings.ts";

export interface Allowed {
  readonly actions: readonly string[];
  readonly resources: readonly string[];
  readonly conditions?: Conditions;
  /** Why a resource has to be a pattern. */
  readonly why?: string;
}

export function allow(role: IRole, { actions, resources, conditions, why }: Allowed): void {
  for (const resource of resources) {
    const text = flat(Stack.of(role).resolve(resource));
    if (!text.includes("*")) continue;
    if (why === undefined) throw new Error(`bug: ${text} is a pattern without a reason`);
    acknowledge(role, { [`AwsSolutions-IAM5[Resource::${text}]`]: why });
  }
  role.addToPrincipalPolicy(
    new PolicyStatement({
      actions: [...actions],
      resources: [...resources],
      ...(conditions === undefined ? {} : { conditions }),
    }),
  );
}

/** A value of a template as one text, references in angle brackets: as the rule pack names what it found. */
export function flat(value: unknown): string {
  if (typeof value === "string") return value.replaceAll("${", "<").replaceAll("}", ">");
  const { Ref, "Fn::GetAtt": attribute, "Fn::Sub": text, "Fn::Join": joined } = value as Record<string, unknown>;
  if (typeof Ref === "string") return `<${Ref}>`;
  if (typeof text === "string") return flat(text);
  if (Array.isArray(attribute)) return `<${attribute.join(".")}>`;
  if (!Array.isArray(joined)) throw new Error(`bug: ${JSON.stringify(value)} is no name of a resource`);
  const [separator, parts] = joined as [string, unknown[]];
  return parts.map(flat).join(separator);
}
