// A deployed stack, by CloudFormation's list of its resources: under which names AWS made them.
import { messageOf } from "../../shared/core/errors.ts";
import { UsageError } from "../client/usage-error.ts";

export interface Installation {
  /** By the names that the stack gives them: `tick`, `dead-letter`, … */
  readonly functions: ReadonlyMap<string, string>;
  /** `ticks`, `dead-letters`, …; queues by name, not by address. */
  readonly queues: ReadonlyMap<string, string>;
  readonly alarms: readonly string[];
  /** The secret with providers' keys. */
  readonly keysSecret: string;
  /** Null: the database is the user's own. */
  readonly database: string | null;
}

/** As CloudFormation lists it. */
export interface StackResource {
  readonly logicalId: string;
  readonly type: string;
  readonly physicalId: string;
}

const FUNCTIONS = ["tick", "task", "guardian", "dead-letter", "api", "events", "migrate"];
const QUEUES = ["ticks", "tasks-short", "tasks-long", "tasks-solo", "dead-letters", "pulse"];
/** CDK's ids have no dashes, and end in a hash. */
const isOf = (logicalId: string, part: string): boolean =>
  new RegExp(`${part.replaceAll("-", "")}[0-9A-F]{8}$`).test(logicalId);

/** @throws UsageError for a stack that holds no installation. */
export function installationOf(stack: string, resources: readonly StackResource[]): Installation {
  const ofType = (type: string): readonly StackResource[] => resources.filter((resource) => resource.type === type);
  const named = (type: string, names: readonly string[], part: (name: string) => string): Map<string, string> =>
    new Map(
      names.flatMap((name): [string, string][] => {
        const found = ofType(type).find(({ logicalId }) => isOf(logicalId, part(name)));
        return found === undefined ? [] : [[name, found.physicalId]];
      }),
    );
  const functions = named("AWS::Lambda::Function", FUNCTIONS, (name) => `${name}Function`);
  const urls = named("AWS::SQS::Queue", QUEUES, (name) => `Queues${name}`);
  const keys = ofType("AWS::SecretsManager::Secret").find(({ logicalId }) => isOf(logicalId, "SecretsKeys"));
  if (functions.size < FUNCTIONS.length || urls.size < QUEUES.length || keys === undefined)
    throw new UsageError(`The stack "${stack}" holds no whole installation of Toren. Is it its name?`);
  return {
    functions,
    queues: new Map([...urls].map(([name, url]) => [name, url.slice(url.lastIndexOf("/") + 1)])),
    alarms: ofType("AWS::CloudWatch::Alarm").map(({ physicalId }) => physicalId),
    keysSecret: keys.physicalId,
    database: ofType("AWS::RDS::DBInstance")[0]?.physicalId ?? null,
  };
}

/** @throws UsageError with what AWS says. */
export async function findInstallation(stack: string): Promise<Installation> {
  const { CloudFormationClient, paginateListStackResources } = await import("@aws-sdk/client-cloudformation");
  const client = new CloudFormationClient({});
  const resources: StackResource[] = [];
  try {
    for await (const page of paginateListStackResources({ client }, { StackName: stack }))
      for (const { LogicalResourceId, ResourceType, PhysicalResourceId } of page.StackResourceSummaries ?? [])
        resources.push({
          logicalId: LogicalResourceId ?? "",
          type: ResourceType ?? "",
          physicalId: PhysicalResourceId ?? "",
        });
  } catch (e) {
    throw new UsageError(`The stack "${stack}" can't be read: ${messageOf(e)}`);
  } finally {
    client.destroy();
  }
  return installationOf(stack, resources);
}
