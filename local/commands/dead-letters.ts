// toren dead-letters …: messages that nobody could work on. They tell that something kept failing; their runs are unharmed.
import { Command } from "commander";
import { DEAD_LETTERS_PAGE_MAX } from "../../shared/core/limits.ts";
import type { DeadLetterJson } from "../../shared/http/dead-letters.ts";
import type { Api } from "../client/api.ts";
import { demandServer } from "../client/connect.ts";
import { connectToRead } from "../client/connect-to-read.ts";
import { UsageError } from "../client/usage-error.ts";
import { type Style, styleOf } from "../terminal/style.ts";
import { cut, oneLine, printable } from "../terminal/terminal.ts";
import { ago } from "../terminal/units.ts";
import { answered } from "./answered.ts";
import { type Context, parseCount, say, subcommand } from "./context.ts";

interface Options {
  readonly limit?: number;
  readonly all?: boolean;
  readonly json?: boolean;
}

const LIST_DEFAULT = 20;

export function deadLettersCommand(context: Context): Command {
  const letters = new Command("dead-letters").description(
    "list and show messages that nobody could work on, send them again, drop them",
  );
  for (const make of [listCommand, showCommand, sendCommand, dropCommand]) letters.addCommand(make(context));
  return letters;
}

const listCommand = (context: Context): Command =>
  subcommand("list", "dead letters, newest first")
    .option("--limit <n>", `how many, at most ${DEAD_LETTERS_PAGE_MAX}`, parseCount, LIST_DEFAULT)
    .action((options: Options) => context.run(options.json, () => list(context, options)));

async function list({ terminal }: Context, { limit = LIST_DEFAULT, json }: Options): Promise<number> {
  if (limit > DEAD_LETTERS_PAGE_MAX) throw new UsageError(`--limit is at most ${DEAD_LETTERS_PAGE_MAX}.`);
  return await answered(terminal, connectToRead, json, {
    ask: (api) => api.deadLetters({ limit: String(limit) }),
    show: (page) => {
      if (page.deadLetters.length === 0) say(terminal, "No dead letters.");
      const style = styleOf(terminal.out);
      const columns = terminal.out.size()?.columns ?? Number.POSITIVE_INFINITY;
      for (const letter of page.deadLetters) terminal.out.write(`${row(letter, style, Date.now(), columns)}\n`);
      if (page.next !== null) say(terminal, style.dim("There are more: --limit shows more."));
    },
  });
}

const ID_COLUMNS = 10;
const AGO_COLUMNS = 12;
const QUEUE_COLUMNS = 11;

function row(letter: DeadLetterJson, style: Style, now: number, columns: number): string {
  const { id, queue, receiveCount, recordedAt } = letter;
  const when = ago(now - Date.parse(recordedAt));
  const left = `${id.padEnd(ID_COLUMNS)}  ${queue.padEnd(QUEUE_COLUMNS)}  ${style.dim(when.padEnd(AGO_COLUMNS))}  `;
  const taken = Math.max(id.length, ID_COLUMNS) + QUEUE_COLUMNS + AGO_COLUMNS + 6;
  return `${left}${cut(`${whose(letter)}, received ${receiveCount} times`, Math.max(10, columns - taken))}`;
}

/** Which run it was about, where that can be read. */
function whose({ body }: DeadLetterJson): string {
  const { agent, runId, taskId } = (typeof body === "object" && body !== null ? body : {}) as Record<string, unknown>;
  if (typeof agent !== "string" || typeof runId !== "string") return printable(oneLine(JSON.stringify(body)));
  return printable(oneLine(`${agent} ${runId}${typeof taskId === "string" ? ` ${taskId}` : ""}`));
}

const showCommand = (context: Context): Command =>
  subcommand("show", "one of them, with its whole body")
    .argument("<id>", "its id, as list gives it")
    .action((id: string, { json }: Options) =>
      context.run(json, () => {
        const { out } = context.terminal;
        return answered(context.terminal, connectToRead, json, {
          ask: (api) => api.deadLetter(id),
          show: (letter) =>
            out.write(
              `${row(letter, styleOf(out), Date.now(), Number.POSITIVE_INFINITY)}\n${printable(JSON.stringify(letter.body, null, 2))}\n`,
            ),
        });
      }),
    );

const sendCommand = (context: Context): Command =>
  several(context, "send", "send their hints to their queues again, and forget them", "sent", (api, id) =>
    api.sendDeadLetter(id),
  );

const dropCommand = (context: Context): Command =>
  several(context, "drop", "forget them: somebody has looked", "dropped", (api, id) => api.dropDeadLetter(id));

const several = (
  context: Context,
  name: string,
  description: string,
  done: string,
  act: (api: Api, id: string) => Promise<void>,
): Command =>
  subcommand(name, description)
    .argument("[id...]", "their ids, as list gives them")
    .option("--all", "all that there are")
    .action((ids: string[], options: Options) =>
      context.run(options.json, async () => {
        const { terminal } = context;
        if ((ids.length === 0) === (options.all !== true)) throw new UsageError("Name dead letters, or say --all.");
        return await answered(terminal, demandServer, options.json, {
          ask: async (api) => {
            const acted: string[] = [];
            for (const id of options.all ? await allIds(api) : ids) {
              await act(api, id);
              acted.push(id);
              if (!options.json) say(terminal, `${printable(oneLine(id))} has been ${done}.`);
            }
            return { [done]: acted };
          },
          show: ({ [done]: acted = [] }) => {
            if (acted.length === 0) say(terminal, "No dead letters.");
          },
        });
      }),
    );

async function allIds(api: Api): Promise<string[]> {
  const ids: string[] = [];
  for (let cursor: string | null = null; ; ) {
    const page: Awaited<ReturnType<Api["deadLetters"]>> = await api.deadLetters({
      limit: String(DEAD_LETTERS_PAGE_MAX),
      ...(cursor === null ? {} : { cursor }),
    });
    ids.push(...page.deadLetters.map((letter) => letter.id));
    if (page.next === null) return ids;
    cursor = page.next;
  }
}
