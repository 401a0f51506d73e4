// What the two profiles are made of. Changing the profile of an installation changes these settings in place: nothing that holds data is replaced.
import { closest } from "../shared/core/closest.ts";
import { StackProblem } from "./problem.ts";

export type ProfileName = "small" | "production";

export interface Profile {
  /** How private subnets reach what speaks IPv4 only: one small instance, or AWS' managed gateway in each availability zone. */
  readonly nat: "instance" | "gateways";
  readonly flowLogs: boolean;
  readonly databaseClass: DatabaseClass;
  readonly multiAz: boolean;
  readonly backupDays: number;
  /** gp3, grown by RDS itself up to this. */
  readonly databaseMaxGb: number;
  readonly logDays: 30 | 90;
  /** One line a request. It needs a role that API Gateway has once an account and region. */
  readonly accessLogs: boolean;
  readonly requestsPerSecond: number;
  readonly burst: number;
}

/** RDS classes on Graviton, and their memory in GiB: connections are planned by it. */
export const DATABASE_CLASSES = {
  "t4g.micro": 1,
  "t4g.small": 2,
  "t4g.medium": 4,
  "t4g.large": 8,
  "m7g.large": 8,
  "m7g.xlarge": 16,
  "m7g.2xlarge": 32,
  "r7g.large": 16,
  "r7g.xlarge": 32,
} as const;
export type DatabaseClass = keyof typeof DATABASE_CLASSES;

const PROFILES: Readonly<Record<ProfileName, Profile>> = {
  small: {
    nat: "instance",
    flowLogs: false,
    databaseClass: "t4g.micro",
    multiAz: false,
    backupDays: 7,
    databaseMaxGb: 200,
    logDays: 30,
    accessLogs: false,
    requestsPerSecond: 25,
    burst: 50,
  },
  production: {
    nat: "gateways",
    flowLogs: true,
    databaseClass: "t4g.medium",
    multiAz: true,
    backupDays: 14,
    databaseMaxGb: 1_000,
    logDays: 90,
    accessLogs: true,
    requestsPerSecond: 200,
    burst: 400,
  },
};

/** @throws StackProblem for a name that is none. */
export function profileOf(name: string): Profile {
  return oneOf(PROFILES, name, "profile");
}

/** @throws StackProblem */
export const databaseMemoryGib = (name: string): number => oneOf(DATABASE_CLASSES, name, "database class");

/** @throws StackProblem */
export function oneOf<T>(known: Readonly<Record<string, T>>, name: string, what: string): T {
  const found = Object.hasOwn(known, name) ? known[name] : undefined;
  if (found !== undefined) return found;
  throw new StackProblem(`There is no ${what} "${name}". ${closest(name, Object.keys(known))}`);
}
