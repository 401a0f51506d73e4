// Schemas before code: a custom resource whose answer, the deployment's generation, is in every function's environment, so that none is replaced before it.
import { CustomResource, Duration } from "aws-cdk-lib";
import type { IDependable } from "constructs";
import { Construct } from "constructs";
import { MIGRATE_INVOCATION_MS } from "../shared/core/limits.ts";
import { type ConnectionPlan, DATABASE_USERS, type DatabaseUserOf } from "./connections.ts";
import type { TorenFunction } from "./functions.ts";

export interface MigrationProps {
  readonly migrate: TorenFunction;
  /** Changes whenever any code does. */
  readonly codeHash: string;
  /** Users to make, with their limits; null: whoever the URL names does everything. */
  readonly users: ConnectionPlan["limits"] | null;
  /** Which database: another one is empty, and is migrated although no code has changed. */
  readonly database: string;
  /** Changes when the first key is to be read again. */
  readonly keyRelease: number;
  /** Database and way out. */
  readonly after: readonly IDependable[];
}

export class Migration extends Construct {
  /** Text that changes with every deployment of other code. */
  readonly generation: string;

  constructor(scope: Construct, id: string, { migrate, codeHash, users, database, keyRelease, after }: MigrationProps) {
    super(scope, id);
    const limits = Object.entries(users ?? {}) as [DatabaseUserOf, number][];
    const Users = Object.fromEntries(limits.map(([of, limit]) => [DATABASE_USERS[of], String(limit)]));
    const resource = new CustomResource(this, "Resource", {
      resourceType: "Custom::TorenMigration",
      serviceToken: migrate.fn.functionArn,
      serviceTimeout: Duration.millis(MIGRATE_INVOCATION_MS).plus(Duration.minutes(1)),
      properties: {
        Code: codeHash,
        Database: database,
        KeyRelease: String(keyRelease),
        ...(users === null ? {} : { Users }),
      },
    });
    resource.node.addDependency(...after);
    this.generation = resource.getAttString("Generation");
  }
}
