// Findings of AWS' rule packs that are answered, each with its reason, where the resource is made.
import { Validations } from "aws-cdk-lib";
import type { IConstruct } from "constructs";

/** Reasons by rule, as in `AwsSolutions-IAM5[Resource::*]`. */
export function acknowledge(construct: IConstruct, reasons: Readonly<Record<string, string>>): void {
  Validations.of(construct).acknowledge(...Object.entries(reasons).map(([id, reason]) => ({ id, reason })));
}
