// The options of an installation, checked: what is wrong is said before anything is made.
import { type Stack, Token } from "aws-cdk-lib";
import type { IVpc } from "aws-cdk-lib/aws-ec2";
import { readAgents } from "./agents.ts";
import type { StageSettings } from "./api.ts";
import { type ModelRight, modelRights } from "./bedrock.ts";
import { type DatabaseSettings, STORAGE_GB } from "./database.ts";
import { StackProblem } from "./problem.ts";
import { databaseMemoryGib, oneOf, type Profile, type ProfileName, profileOf } from "./profile.ts";

export interface TorenProps {
  /** The folder with the agents, from the working folder. Default: `agents`. */
  readonly agents?: string;
  /** Sizes and redundancy. Default: `small`. */
  readonly profile?: ProfileName;
  /** A VPC of yours with private subnets that have a way out. Default: one is made. */
  readonly vpc?: IVpc;
  /** Settings of the database, or `url`: one of yours, which functions reach by its address. Default: a PostgreSQL 17 on RDS, sized by the profile. */
  readonly database?: DatabaseSettings | { readonly url: string };
  /** Who works on tasks: functions, started for them, or workers on Fargate that are always there. Default: `lambda`. */
  readonly workers?: "lambda" | "fargate";
  /** Payloads are encrypted with keys of yours, which are in the keys' secret under TOREN_ENCRYPTION_KEYS before this is deployed. Default: false. */
  readonly encryption?: boolean;
  /** US dollars a month for everything in the account; alerts at 80 %, and when the forecast passes it. Default: no budget. */
  readonly budgetUsd?: number;
  /** Hears of alarms and of the budget, once the address is confirmed. Default: nobody; alarms are in the console. */
  readonly alarmEmail?: string;
  /** Of the API. */
  readonly stage?: StageSettings;
  /** Counts up to have the NAT instance of profile small replaced by one with today's image. Default: 1. */
  readonly natRelease?: number;
  /** Counts up to have the first API key's secret read again, after somebody put another text there. Default: 1. */
  readonly keyRelease?: number;
}

export interface Settings {
  readonly agentsFolder: string;
  readonly profile: Profile;
  readonly onFargate: boolean;
  /** Of the models on Bedrock that agents ask. */
  readonly models: readonly ModelRight[];
  /** Null: one is made. */
  readonly databaseUrl: string | null;
  readonly database: DatabaseSettings;
}

/** RDS refuses a bound that is less than a tenth above what is there. */
const STORAGE_MAX_GB_MIN = Math.ceil(STORAGE_GB * 1.1);
const WORKERS = { lambda: false, fargate: true } as const;

/** @throws StackProblem */
export function settingsOf(stack: Stack, props: TorenProps): Settings {
  const {
    agents = "agents",
    profile = "small",
    workers = "lambda",
    database = {},
    budgetUsd,
    natRelease = 1,
    keyRelease = 1,
  } = props;
  const settings: Settings = {
    agentsFolder: agents,
    profile: profileOf(profile),
    onFargate: oneOf(WORKERS, workers, "kind of workers"),
    models: modelRights(stack, readAgents(agents)),
    ...("url" in database ? { databaseUrl: database.url, database: {} } : { databaseUrl: null, database }),
  };
  if (settings.database.instanceClass !== undefined) databaseMemoryGib(settings.database.instanceClass);
  checkNumbers(settings.database, props.stage ?? {});
  // A reference to a secret is a token, or text of CloudFormation's: it is known when it is deployed.
  if (settings.databaseUrl !== null && !/^(?:postgres(?:ql)?:\/\/|\$\{Token|\{\{resolve:)/.test(settings.databaseUrl))
    throw new StackProblem("The database's url must begin with postgres://, or be left out.");
  if (settings.databaseUrl !== null && settings.onFargate && props.vpc === undefined)
    throw new StackProblem('workers: "fargate" needs a network: give a vpc beside the database\'s url.');
  if (props.vpc !== undefined && props.vpc.privateSubnets.length === 0)
    throw new StackProblem("The vpc has no private subnets with a way out: functions and workers need some.");
  if (budgetUsd !== undefined && !(budgetUsd > 0))
    throw new StackProblem(`budgetUsd is ${budgetUsd}: give US dollars a month, or leave it out.`);
  if (
    props.alarmEmail !== undefined &&
    !Token.isUnresolved(props.alarmEmail) &&
    !/^[^\s@]+@[^\s@]+$/.test(props.alarmEmail)
  )
    throw new StackProblem(`alarmEmail is "${props.alarmEmail}": give one address, as in ops@example.com.`);
  const { name: stageName = "v1" } = props.stage ?? {};
  if (!/^\w{1,128}$/.test(stageName))
    throw new StackProblem(`stageName is "${stageName}": API Gateway takes letters, digits and underscores.`);
  for (const [name, release] of Object.entries({ natRelease, keyRelease }))
    if (!Number.isInteger(release) || release < 1)
      throw new StackProblem(`${name} is ${release}: it counts from 1 up.`);
  return settings;
}

/** What AWS would refuse minutes later, in the middle of a deploy; or take, and refuse every request. */
function checkNumbers({ maxStorageGb }: DatabaseSettings, { requestsPerSecond, burst }: StageSettings): void {
  if (maxStorageGb !== undefined && (!Number.isInteger(maxStorageGb) || maxStorageGb < STORAGE_MAX_GB_MIN))
    throw new StackProblem(
      `databaseMaxStorageGb is ${maxStorageGb}: give whole gigabytes, ${STORAGE_MAX_GB_MIN} at least; RDS grows storage by a tenth or more.`,
    );
  if (requestsPerSecond !== undefined && !(requestsPerSecond > 0))
    throw new StackProblem(
      `requestsPerSecond is ${requestsPerSecond}: nobody could ask anything; give a number above 0.`,
    );
  if (burst !== undefined && (!Number.isInteger(burst) || burst < 1))
    throw new StackProblem(`burst is ${burst}: give a whole number of requests, 1 at least.`);
}
