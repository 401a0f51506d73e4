// What every command is given, and the few things that all of them say in the same way.
import { Command, InvalidArgumentError } from "commander";
import { type ErrorCode, TorenError } from "../../shared/core/errors.ts";
import { UsageError } from "../client/usage-error.ts";
import { asCalled, type Terminal } from "../terminal/terminal.ts";

/** Exit codes. They are part of the interface: scripts branch on them. */
export const EXIT = { done: 0, failed: 1, usage: 2, unreachable: 3 } as const;

/** As a shell says that Ctrl-C ended a command. */
export const EXIT_INTERRUPTED = 130;

export interface Context {
  readonly terminal: Terminal;
  /** Runs a command's work and keeps its status for the process to exit with. `json`: what goes wrong is said as JSON on stdout too. */
  run(json: boolean | undefined, work: () => Promise<number>): Promise<void>;
}

/** A subcommand that has `--json`, as all have. */
export const subcommand = (name: string, description: string): Command =>
  new Command(name).description(description).option("--json", "one JSON document on stdout, nothing else");

const UNREACHABLE: ReadonlySet<ErrorCode> = new Set([
  "server.unreachable",
  "database.unavailable",
  "database.unsafe",
  "schema.newer",
  "schema.older",
]);

export function statusOfError(thrown: unknown): number {
  if (thrown instanceof UsageError) return EXIT.usage;
  if (!(thrown instanceof TorenError) || thrown.code === "bug") return EXIT.failed;
  return UNREACHABLE.has(thrown.code) ? EXIT.unreachable : EXIT.usage;
}

export const writeJson = (terminal: Terminal, value: unknown): void => terminal.out.write(`${JSON.stringify(value)}\n`);

/** A message of ours; what others wrote goes out as it is. */
export const say = (terminal: Terminal, text: string): void => terminal.err.write(`${asCalled(text, terminal.env)}\n`);

/** Somebody wanted it to stop; else the reader of its output went away, and nobody is left to be told. */
export const wasCtrlC = ({ interrupted }: Terminal): boolean => interrupted.aborted && interrupted.reason !== "EPIPE";

export function parsePort(text: string): number {
  if (!/^\d{1,5}$/.test(text) || Number(text) > 65_535)
    throw new InvalidArgumentError("A port is a number from 0 to 65535; 0 takes a free one.");
  return Number(text);
}

export function parseCount(text: string): number {
  if (!/^[1-9]\d{0,3}$/.test(text)) throw new InvalidArgumentError("A whole number from 1 on is expected.");
  return Number(text);
}

/** Collects an option that may be given more than once. */
export const collect = (text: string, before: readonly string[] = []): string[] => [...before, text];
