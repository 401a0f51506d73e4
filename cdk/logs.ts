// Log groups that forget.
import { RemovalPolicy } from "aws-cdk-lib";
import { LogGroup, RetentionDays } from "aws-cdk-lib/aws-logs";
import type { Construct } from "constructs";

const RETENTION = { 30: RetentionDays.ONE_MONTH, 90: RetentionDays.THREE_MONTHS } as const;
export type LogDays = keyof typeof RETENTION;

/** Logs hold ids and numbers, no prompts; they go with the installation. */
export const logGroup = (scope: Construct, id: string, days: LogDays): LogGroup =>
  new LogGroup(scope, id, { retention: RETENTION[days], removalPolicy: RemovalPolicy.DESTROY });
