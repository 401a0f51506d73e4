// The database: PostgreSQL on RDS, inside the VPC, reached with short-lived tokens over TLS alone. Or the user's own, by its URL.
import { type CfnResource, Duration, RemovalPolicy, Stack, Token } from "aws-cdk-lib";
import { InstanceType, Port, SecurityGroup } from "aws-cdk-lib/aws-ec2";
import type { IGrantable } from "aws-cdk-lib/aws-iam";
import {
  CaCertificate,
  Credentials,
  DatabaseInstance,
  DatabaseInstanceEngine,
  ParameterGroup,
  PostgresEngineVersion,
  StorageType,
  SubnetGroup,
} from "aws-cdk-lib/aws-rds";
import type { ISecret } from "aws-cdk-lib/aws-secretsmanager";
import { Construct } from "constructs";
import { certificates } from "./certificates.ts";
import {
  type ConnectionPlan,
  DATABASE_USERS,
  type DatabaseUserOf,
  maxConnectionsOf,
  planConnections,
} from "./connections.ts";
import { acknowledge } from "./findings.ts";
import type { Network } from "./network.ts";
import { StackProblem } from "./problem.ts";
import { type DatabaseClass, databaseMemoryGib, type Profile } from "./profile.ts";

const PORT = 5_432;
const NAME = "toren";
/** Makes the functions' users and their tables; only migrate signs in with it. */
const MASTER = "toren_admin";
/** To begin with; RDS grows it. */
export const STORAGE_GB = 20;

export interface DatabaseSettings {
  /** Default: by the profile. Changing it restarts the server, a minute or two. */
  readonly instanceClass?: DatabaseClass;
  /** How far RDS may grow the storage by itself. Default: by the profile. */
  readonly maxStorageGb?: number;
  /** Default: true. `cdk destroy` fails until it is off. */
  readonly deletionProtection?: boolean;
}

/** Whoever signs in: with a user of its own, migrate with the master's. */
export type SignsIn = DatabaseUserOf | "migrate";

export interface DatabaseProps extends DatabaseSettings {
  readonly profile: Profile;
  readonly network: Network;
  /** Short tasks are worked on by Fargate workers. */
  readonly onFargate: boolean;
}

export class Database extends Construct {
  readonly instance: DatabaseInstance;
  readonly plan: ConnectionPlan;
  /** Its class lives on CPU credits. */
  readonly burstable: boolean;
  /** Of the master user. RDS makes the password, and another one every week. */
  readonly masterSecret: ISecret;

  constructor(scope: Construct, id: string, props: DatabaseProps) {
    super(scope, id);
    const { profile, network } = props;
    checkRegion(Stack.of(this).region);
    const instanceClass = props.instanceClass ?? profile.databaseClass;
    this.burstable = instanceClass.startsWith("t");
    this.plan = planConnections(maxConnectionsOf(databaseMemoryGib(instanceClass)), props.onFargate);
    // A major version by choice, minor ones by RDS: a pinned minor version would be undone by each deploy after RDS went on.
    const engine = DatabaseInstanceEngine.postgres({ version: PostgresEngineVersion.of("17", "17") });
    const group = new SecurityGroup(this, "SecurityGroup", {
      vpc: network.vpc,
      description: "Database of Toren: in from functions and workers, out to nowhere",
      allowAllOutbound: false,
    });
    group.addIngressRule(network.workers, Port.tcp(PORT), "Functions and workers");
    this.instance = new DatabaseInstance(this, "Instance", {
      engine,
      instanceType: new InstanceType(instanceClass),
      databaseName: NAME,
      port: PORT,
      vpc: network.vpc,
      subnetGroup: new SubnetGroup(this, "Subnets", {
        description: "Database of Toren",
        vpc: network.vpc,
        vpcSubnets: network.isolated,
        removalPolicy: RemovalPolicy.DESTROY,
      }),
      securityGroups: [group],
      publiclyAccessible: false,
      multiAz: profile.multiAz,
      credentials: Credentials.fromUsername(MASTER),
      manageMasterUserPassword: true,
      iamAuthentication: true,
      caCertificate: CaCertificate.RDS_CA_RSA2048_G1,
      storageEncrypted: true,
      storageType: StorageType.GP3,
      allocatedStorage: STORAGE_GB,
      maxAllocatedStorage: props.maxStorageGb ?? profile.databaseMaxGb,
      backupRetention: Duration.days(profile.backupDays),
      copyTagsToSnapshot: true,
      autoMinorVersionUpgrade: true,
      allowMajorVersionUpgrade: false,
      deletionProtection: props.deletionProtection ?? true,
      removalPolicy: RemovalPolicy.SNAPSHOT,
      parameterGroup: new ParameterGroup(this, "Parameters", {
        engine,
        description: "Toren",
        removalPolicy: RemovalPolicy.DESTROY,
        parameters: { "rds.force_ssl": "1", max_connections: String(this.plan.maxConnections) },
      }),
    });
    const { secret } = this.instance;
    if (secret === undefined) throw new Error("bug: RDS manages the master user's password");
    this.masterSecret = secret;
    this.explain(profile);
  }

  /** Lets a function sign in as its user, and no other. */
  grantConnect(grantee: IGrantable, user: DatabaseUserOf): void {
    this.instance.grantConnect(grantee, DATABASE_USERS[user]);
  }

  /** What a function needs to know. */
  environment(user: SignsIn): Record<string, string> {
    return {
      TOREN_DB_HOST: this.instance.dbInstanceEndpointAddress,
      TOREN_DB_PORT: String(PORT),
      TOREN_DB_NAME: NAME,
      ...(user === "migrate"
        ? { TOREN_DB_USER: MASTER, TOREN_DB_MASTER_SECRET_ARN: this.masterSecret.secretArn }
        : { TOREN_DB_USER: DATABASE_USERS[user] }),
    };
  }

  private explain(profile: Profile): void {
    (this.instance.node.defaultChild as CfnResource).addMetadata("cfn-lint", {
      config: { ignore_checks: ["W3691"] }, // the major version alone, see above
    });
    acknowledge(this.instance, {
      "AwsSolutions-RDS11": "The port is no secret: nothing but Toren's own functions can reach it.",
      ...(profile.multiAz
        ? {}
        : { "AwsSolutions-RDS3": "A second server costs as much as the first: it is part of profile production." }),
    });
  }
}

/** Functions trust the region's own certificates, and those alone. */
function checkRegion(region: string): void {
  if (Token.isUnresolved(region) || certificates().has(region)) return;
  throw new StackProblem(
    `Toren knows no certificates of RDS in ${region}: deploy to another region, or give a database of yours by its url.`,
  );
}
