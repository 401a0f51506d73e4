// The construct's options as the command line gives them: `-c name=value`, or the same names under `context` in cdk.json.
import { closest } from "../shared/core/closest.ts";
import { StackProblem } from "./problem.ts";
import type { DatabaseClass, ProfileName } from "./profile.ts";
import type { TorenProps } from "./settings.ts";

/** Every name that is read below: a test holds the two equal. */
export const OPTION_NAMES = [
  "agents",
  "profile",
  "workers",
  "databaseUrl",
  "databaseClass",
  "databaseMaxStorageGb",
  "deletionProtection",
  "encryption",
  "budgetUsd",
  "alarmEmail",
  "natRelease",
  "keyRelease",
  "stageName",
  "requestsPerSecond",
  "burst",
  "accessLogs",
] as const;

/** Names that CDK or a feature flag may use have signs in them. */
const COULD_BE_OURS = /^[A-Za-z]+$/;

/** @throws StackProblem for a name that is none of ours: it would be ignored without a word. */
export function checkNames(names: Iterable<string>): void {
  for (const name of names) {
    if (!COULD_BE_OURS.test(name) || (OPTION_NAMES as readonly string[]).includes(name)) continue;
    throw new StackProblem(`There is no option "${name}". ${closest(name, OPTION_NAMES)}`);
  }
}

/** `read` gives the value of a name, undefined where there is none. @throws StackProblem for a value of the wrong kind. */
export function optionsOf(read: (name: string) => unknown): TorenProps {
  const text = (name: string): string | undefined => {
    const value = read(name);
    if (value === undefined || value === "") return undefined;
    if (typeof value === "string") return value;
    if (typeof value === "number" || typeof value === "boolean") return String(value);
    throw new StackProblem(`The context value ${name} must be one word: -c ${name}=…`);
  };
  const number = (name: string): number | undefined => {
    const value = text(name);
    if (value === undefined) return undefined;
    if (/^\d+(\.\d+)?$/.test(value)) return Number(value);
    throw new StackProblem(`-c ${name}=${value}: it must be a number.`);
  };
  const flag = (name: string): boolean | undefined => {
    const value = text(name);
    if (value === undefined) return undefined;
    if (value === "true" || value === "false") return value === "true";
    throw new StackProblem(`-c ${name}=${value}: it must be true or false.`);
  };
  const url = text("databaseUrl");
  return given({
    agents: text("agents"),
    // Whether they exist is the construct's to say.
    profile: text("profile") as ProfileName | undefined,
    workers: text("workers") as TorenProps["workers"],
    database:
      url !== undefined
        ? { url }
        : given({
            instanceClass: text("databaseClass") as DatabaseClass | undefined,
            maxStorageGb: number("databaseMaxStorageGb"),
            deletionProtection: flag("deletionProtection"),
          }),
    encryption: flag("encryption"),
    budgetUsd: number("budgetUsd"),
    alarmEmail: text("alarmEmail"),
    natRelease: number("natRelease"),
    keyRelease: number("keyRelease"),
    stage: given({
      name: text("stageName"),
      requestsPerSecond: number("requestsPerSecond"),
      burst: number("burst"),
      accessLogs: flag("accessLogs"),
    }),
  });
}

type Given<T> = { [K in keyof T]?: Exclude<T[K], undefined> };

function given<T extends object>(options: T): Given<T> {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as Given<T>;
}
