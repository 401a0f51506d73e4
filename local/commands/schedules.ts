// toren schedules …: runs that start by a clock. They fire where a server or a worker runs.
import { type Command as Cmd, Command, Option } from "commander";
import type { Json } from "../../shared/core/json.ts";
import type { ScheduleJson, ScheduleWithTimesJson } from "../../shared/http/schedules.ts";
import type { Api } from "../client/api.ts";
import { demandServer } from "../client/connect.ts";
import { connectToRead } from "../client/connect-to-read.ts";
import { UsageError } from "../client/usage-error.ts";
import { type Style, styleOf } from "../terminal/style.ts";
import { oneLine, printable } from "../terminal/terminal.ts";
import { answered } from "./answered.ts";
import { type Context, parseCount, say, subcommand } from "./context.ts";

export function schedulesCommand(context: Context): Cmd {
  const schedules = new Command("schedules").description("start runs by a clock: add, list, pause, resume, remove");
  for (const make of [addCommand, listCommand, nextCommand, pauseCommand, resumeCommand, removeCommand])
    schedules.addCommand(make(context));
  return schedules;
}

interface AddOptions {
  readonly cron: string;
  readonly zone: string;
  readonly process: string;
  readonly name?: string;
  readonly catchUp: string;
  readonly inputJson?: boolean;
  readonly json?: boolean;
}

const addCommand = (context: Context): Cmd =>
  subcommand("add", "have an agent run by a clock")
    .argument("<agent>", "which agent")
    .argument("<input>", "what each run is about")
    .requiredOption("--cron <expression>", 'minute, hour, day, month, weekday, as "30 2 * * *"')
    .option("--zone <name>", "the time zone, as Europe/Berlin", "UTC")
    .option("--process <name>", "which process of the agent", "main")
    .option("--name <text>", "what people know it by; its runs carry it as the label `schedule`")
    .addOption(
      new Option("--catch-up <how>", "of times at which nobody was there")
        .choices(["none", "last", "all"])
        .default("last"),
    )
    .option("--input-json", "the input is JSON, not text")
    .action((agent: string, input: string, options: AddOptions) =>
      context.run(options.json, () =>
        answered(context.terminal, demandServer, options.json, {
          ask: async (api) => {
            const { cron, zone, process, name = agent, catchUp } = options;
            const body = {
              name,
              agent,
              process,
              cron,
              zone,
              catchUp,
              input: options.inputJson ? parsed(input) : input,
            };
            return await api.ask<ScheduleJson>("POST", "/schedules", body);
          },
          show: (schedule) => write(context, schedule),
        }),
      ),
    );

function parsed(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch (e) {
    throw new UsageError(`--input-json: the input isn't JSON (${e instanceof Error ? e.message : String(e)}).`);
  }
}

const listCommand = (context: Context): Cmd =>
  subcommand("list", "all schedules, by name").action(({ json }: { json?: boolean }) =>
    context.run(json, () =>
      answered(context.terminal, connectToRead, json, {
        ask: (api) => api.ask<{ schedules: readonly ScheduleJson[] }>("GET", "/schedules"),
        show: ({ schedules }) => {
          if (schedules.length === 0) say(context.terminal, "No schedules.");
          for (const schedule of schedules) write(context, schedule);
        },
      }),
    ),
  );

const nextCommand = (context: Context): Cmd =>
  subcommand("next", "when a schedule fires next")
    .argument("<id>", "its id, as list gives it")
    .option("--count <n>", "how many times", parseCount, 5)
    .action((id: string, { count, json }: { count: number; json?: boolean }) =>
      context.run(json, () =>
        answered(context.terminal, connectToRead, json, {
          ask: (api) => api.ask<ScheduleWithTimesJson>("GET", `${pathOf(id)}?next=${count}`),
          show: ({ next, zone }) => {
            for (const at of next) context.terminal.out.write(`${at.slice(0, 16)}Z  ${localTime(at, zone)}\n`);
          },
        }),
      ),
    );

const steering =
  (name: string, description: string, ask: (api: Api, id: string) => Promise<ScheduleJson>) =>
  (context: Context): Cmd =>
    subcommand(name, description)
      .argument("<id>", "its id, as list gives it")
      .action((id: string, { json }: { json?: boolean }) =>
        context.run(json, () =>
          answered(context.terminal, connectToRead, json, {
            ask: (api) => ask(api, id),
            show: (schedule) => write(context, schedule),
          }),
        ),
      );
const pauseCommand = steering("pause", "stop a schedule from firing", (api, id) =>
  api.ask("POST", `${pathOf(id)}/pause`),
);
const resumeCommand = steering("resume", "have a schedule fire again, from now on", (api, id) =>
  api.ask("POST", `${pathOf(id)}/resume`),
);

const removeCommand = (context: Context): Cmd =>
  subcommand("rm", "remove a schedule; its runs stay")
    .argument("<id>", "its id, as list gives it")
    .action((id: string, { json }: { json?: boolean }) =>
      context.run(json, () =>
        answered(context.terminal, connectToRead, json, {
          ask: async (api) => {
            await api.ask("DELETE", pathOf(id));
            return { removed: id };
          },
          show: () => say(context.terminal, `${id} has been removed.`),
        }),
      ),
    );

const pathOf = (id: string): string => `/schedules/${encodeURIComponent(id)}`;

const write = ({ terminal }: Context, schedule: ScheduleJson): void =>
  terminal.out.write(`${row(schedule, styleOf(terminal.out))}\n`);

function row(s: ScheduleJson, style: Style): string {
  const what = s.process === "main" ? s.agent : `${s.agent} · ${s.process}`;
  const next = s.nextAt === null ? "paused" : `next ${localTime(s.nextAt, s.zone)}`;
  const problem = s.problem === null ? "" : `\n  ${style.yellow(printable(oneLine(s.problem)))}`;
  return `${s.id}  ${printable(oneLine(s.name))}  ${what}  ${s.cron}  ${style.dim(`${s.zone}, ${next}`)}${problem}`;
}

/** By the clock on the wall there. */
const localTime = (at: string, zone: string): string =>
  new Intl.DateTimeFormat("sv-SE", { timeZone: zone, dateStyle: "short", timeStyle: "short" }).format(new Date(at));
