// toren keys …: who may use this installation's API.
import { type Command as Cmd, Command, InvalidArgumentError, Option } from "commander";
import { SCOPES } from "../../shared/core/scopes.ts";
import { durationMs } from "../../shared/core/time.ts";
import type { KeyJson, MadeKeyJson } from "../../shared/http/keys.ts";
import { connectToRead } from "../client/connect-to-read.ts";
import { type Style, styleOf } from "../terminal/style.ts";
import { oneLine, printable } from "../terminal/terminal.ts";
import { ago } from "../terminal/units.ts";
import { answered } from "./answered.ts";
import { type Context, collect, say, subcommand } from "./context.ts";

export function keysCommand(context: Context): Cmd {
  const keys = new Command("keys").description("make, list and revoke API keys");
  for (const make of [createCommand, listCommand, revokeCommand]) keys.addCommand(make(context));
  return keys;
}

interface CreateOptions {
  readonly scope: readonly string[];
  readonly agent?: readonly string[];
  readonly expires?: number;
  readonly json?: boolean;
}

const createCommand = (context: Context): Cmd =>
  subcommand("create", "make a key; it is shown once, and only its hash is kept")
    .argument("<name>", "what people know it by")
    .addOption(
      new Option("--scope <scope>", `what it may do: ${SCOPES.join(", ")}; may be given several times`)
        .argParser(parseScope)
        .makeOptionMandatory(),
    )
    .option("--agent <name>", "only this agent and its runs; may be given several times", collect)
    .option("--expires <time>", "after how long it ends, as 90d or 12h", parseDuration)
    .action((name: string, options: CreateOptions) => context.run(options.json, () => create(context, name, options)));

function create({ terminal }: Context, name: string, options: CreateOptions): Promise<number> {
  const { scope: scopes, agent: agents = null, expires, json } = options;
  return answered(terminal, connectToRead, json, {
    ask: (api) => {
      const expiresAt = expires === undefined ? null : new Date(Date.now() + expires).toISOString();
      return api.ask<MadeKeyJson>("POST", "/keys", { name, scopes, agents, expiresAt });
    },
    show: (made) => {
      terminal.out.write(`${made.key}\n`);
      say(terminal, `${row(made, styleOf(terminal.err))}\nKeep it now: it is shown this once.`);
    },
  });
}

const listCommand = (context: Context): Cmd =>
  subcommand("list", "keys, newest first, without what is secret").action(({ json }: { json?: boolean }) =>
    context.run(json, () => {
      const { terminal } = context;
      return answered(terminal, connectToRead, json, {
        ask: (api) => api.ask<{ keys: readonly KeyJson[] }>("GET", "/keys"),
        show: ({ keys }) => {
          if (keys.length === 0) say(terminal, "No keys but the one in the state folder.");
          for (const key of keys) terminal.out.write(`${row(key, styleOf(terminal.out))}\n`);
        },
      });
    }),
  );

const revokeCommand = (context: Context): Cmd =>
  subcommand("revoke", "refuse a key from now on")
    .argument("<id>", "its id, as list gives it")
    .action((id: string, { json }: { json?: boolean }) =>
      context.run(json, () =>
        answered(context.terminal, connectToRead, json, {
          ask: (api) => api.ask<KeyJson>("DELETE", `/keys/${encodeURIComponent(id)}`),
          show: (key) => say(context.terminal, `${printable(oneLine(key.name))} is revoked.`),
        }),
      ),
    );

function row(key: KeyJson, style: Style): string {
  const now = Date.now();
  const ended = key.expiresAt !== null && Date.parse(key.expiresAt) <= now;
  const state =
    key.revokedAt !== null
      ? "revoked"
      : ended
        ? "expired"
        : key.expiresAt === null
          ? ""
          : `until ${key.expiresAt.slice(0, 16)}Z`;
  const used = key.lastUsedAt === null ? "never used" : `used ${ago(now - Date.parse(key.lastUsedAt))}`;
  const cells = [
    key.id,
    `${key.begins ?? "toren_"}…`.padEnd(11),
    printable(oneLine(key.name)),
    key.scopes.join(" "),
    key.agents === null ? "" : `for ${key.agents.join(", ")}`,
    state,
  ];
  return `${cells.filter((cell) => cell !== "").join("  ")}  ${style.dim(used)}`;
}

function parseScope(text: string, before: readonly string[] = []): string[] {
  if (!SCOPES.some((scope) => scope === text))
    throw new InvalidArgumentError(`A scope is one of ${SCOPES.join(", ")}.`);
  return [...before, text];
}

function parseDuration(text: string): number {
  const ms = durationMs(text);
  if (ms === null) throw new InvalidArgumentError("A length of time is written as 30m, 12h or 90d.");
  return ms;
}
