// The construct: a whole installation in a stack of the user's. What each option does and costs stands in docs/reference/stack.md.
import { createHash } from "node:crypto";
import { CfnOutput, Stack } from "aws-cdk-lib";
import { Construct, type IDependable } from "constructs";
import { MIGRATE_INVOCATION_MS } from "../shared/core/limits.ts";
import { Alarms } from "./alarms.ts";
import { Api } from "./api.ts";
import { Bundles } from "./bundles.ts";
import { type ConnectionPlan, connectionLimits, planConnections } from "./connections.ts";
import { Database, type SignsIn } from "./database.ts";
import { Files } from "./files.ts";
import { type MakeFunction, TorenFunction } from "./functions.ts";
import { giveRights } from "./grants.ts";
import { LongWork } from "./long-work.ts";
import { Migration } from "./migration.ts";
import { Network } from "./network.ts";
import { Queues } from "./queues.ts";
import { Secrets } from "./secrets.ts";
import { settingsOf, type TorenProps } from "./settings.ts";
import { Timers } from "./timers.ts";
import { Workers } from "./workers.ts";

export type { TorenProps } from "./settings.ts";

/** Of a database of the user's: a little more than Postgres takes as it comes, less what it keeps for itself. */
const OTHERS_CONNECTIONS = 120;

export class Toren extends Construct {
  readonly queues: Queues;
  readonly files: Files;
  readonly secrets: Secrets;
  readonly timers: Timers;
  /** Null with a database by its URL and no `vpc`: functions run outside any VPC, and what is too long for them has no worker. */
  readonly network: Network | null;
  /** Null with a database by its URL. */
  readonly database: Database | null;
  readonly migrate: TorenFunction;
  readonly longWork: LongWork | null;
  readonly workers: Workers;
  readonly api: Api;
  readonly alarms: Alarms;

  /** @throws StackProblem in one sentence that says what to do. */
  constructor(scope: Construct, id: string, props: TorenProps = {}) {
    super(scope, id);
    const settings = settingsOf(Stack.of(this), props);
    const { profile, onFargate, databaseUrl } = settings;
    const bundles = new Bundles(this, "Bundles", settings.agentsFolder);

    this.queues = new Queues(this, "Queues");
    this.files = new Files(this, "Files");
    this.secrets = new Secrets(this, "Secrets");
    this.timers = new Timers(this, "Timers", this.queues);
    const inVpc = databaseUrl === null || props.vpc !== undefined;
    const { natRelease = 1 } = props;
    const network = inVpc ? new Network(this, "Network", { profile, vpc: props.vpc, natRelease }) : null;
    this.network = network;
    this.database =
      network !== null && databaseUrl === null
        ? new Database(this, "Database", { ...settings.database, profile, network, onFargate })
        : null;
    const plan = this.database?.plan ?? planConnections(OTHERS_CONNECTIONS, onFargate);

    const signIn = (user: SignsIn): Record<string, string> =>
      this.database?.environment(user) ?? { DATABASE_URL: databaseUrl ?? "" };
    const make =
      (environment: Readonly<Record<string, string>>): MakeFunction =>
      (within, name, own) => {
        const code = bundles.code(name);
        const common = { code, network, logDays: profile.logDays, environment: { ...environment, ...signIn(name) } };
        return new TorenFunction(within, name, { ...common, ...own });
      };
    this.migrate = make({ TOREN_API_KEY_SECRET_ARN: this.secrets.apiKey.secretArn })(this, "migrate", {
      description: "Toren: schemas, users and the first API key",
      memoryMb: 512,
      timeoutMs: MIGRATE_INVOCATION_MS,
    });
    const generation = this.migrated(bundles.codeHash, plan, props.keyRelease ?? 1, databaseUrl);
    const environment = this.environment(generation, props.encryption ?? false);
    this.longWork =
      network === null
        ? null
        : new LongWork(this, "LongWork", {
            network,
            bundle: bundles.asset("long-task"),
            environment: { ...environment, ...signIn("long-task") },
            max: plan.longTasksMax,
            logDays: profile.logDays,
            onFargate,
          });
    const makeServing = make({ ...environment, ...(this.longWork?.environment() ?? { TOREN_LONG_LANE: "none" }) });
    this.workers = new Workers(this, "Workers", { queues: this.queues, plan, onFargate, make: makeServing });
    this.timers.everyMinute(this.workers.guardian);
    this.api = new Api(this, "Api", { ...props.stage, profile, make: makeServing });
    if (onFargate) this.longWork?.keepRunning(this.queues.byName["tasks-short"]);
    giveRights(this, settings.models);
    const { queues, workers, database } = this;
    const { alarmEmail: email, budgetUsd } = props;
    this.alarms = new Alarms(this, "Alarms", { queues, workers, database, email, budgetUsd });
    this.outputs();
  }

  /** What functions are told of what they share; how each signs in is its own. */
  private environment(generation: string, encryption: boolean): Record<string, string> {
    return {
      ...this.queues.environment(),
      ...this.timers.environment(),
      TOREN_FILES_BUCKET: this.files.bucket.bucketName,
      TOREN_SECRET_ARN: this.secrets.keys.secretArn,
      TOREN_GENERATION: generation,
      ...(encryption ? { TOREN_ENCRYPTION: "on" } : {}),
    };
  }

  /** The generation, once the schemas are there. */
  private migrated(codeHash: string, plan: ConnectionPlan, keyRelease: number, databaseUrl: string | null): string {
    const after: IDependable[] = [this.migrate.role];
    if (this.database !== null) after.push(this.database.instance);
    for (const subnet of this.network?.vpc.privateSubnets ?? []) after.push(subnet.internetConnectivityEstablished);
    const users = this.database === null ? null : connectionLimits(plan);
    const database = this.database?.instance.instanceResourceId ?? this.fingerprint(databaseUrl);
    const { migrate } = this;
    return new Migration(this, "Migration", { migrate, codeHash, users, database, keyRelease, after }).generation;
  }

  /** Of an address, which may hold a password: the text that the template has, hashed. */
  private fingerprint(url: string | null): string {
    const text = JSON.stringify(Stack.of(this).resolve(url));
    return createHash("sha256").update(text).digest("hex").slice(0, 16);
  }

  /** Under names that people can type: `TorenUrl` for a construct named Toren. */
  private outputs(): void {
    const path = this.node.scopes.slice(Stack.of(this).node.scopes.length).map((scope) => scope.node.id);
    const say = (id: string, description: string, value: string): void =>
      new CfnOutput(this, id, { description, value }).overrideLogicalId(`${path.join("")}${id}`.replaceAll(/\W/g, ""));
    say("Url", "Where the API answers", this.api.rest.url);
    say("ApiKeySecret", "Holds the first API key", this.secrets.apiKey.secretArn);
    say("KeysSecret", "Put the providers' keys here", this.secrets.keys.secretArn);
    say("AlarmTopic", "Alarms go here", this.alarms.topic.topicArn);
    if (this.database !== null)
      say("DatabaseHost", "Where the log is", this.database.instance.dbInstanceEndpointAddress);
  }
}
