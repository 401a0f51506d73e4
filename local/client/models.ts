// Which models answer: the roles' own, one for all of them, or the rule-based one, whose server is started beside.
import { type ChildProcess, spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { modelRefusal } from "../../shared/adapters/model/models.ts";
import { DEMO_MODEL } from "../../shared/adapters/model/table.ts";
import { TorenError } from "../../shared/core/errors.ts";
import { UsageError } from "./usage-error.ts";

/**
 * The environment's variables that say a provider is meant to be used. AWS's usual ones are set for other reasons too: beside them a region alone makes
 * bedrock/ reachable (adapters/model/providers.ts).
 */
export const PROVIDER_VARIABLES = [
  "ANTHROPIC_API_KEY",
  "ANTHROPIC_BASE_URL",
  "OPENAI_API_KEY",
  "OPENAI_BASE_URL",
  "AWS_BEARER_TOKEN_BEDROCK",
  "AWS_ENDPOINT_URL_BEDROCK_RUNTIME",
] as const;

export const providersIn = (env: NodeJS.ProcessEnv): string[] => PROVIDER_VARIABLES.filter((name) => env[name]);

export interface ModelChoice {
  /** `provider/name` for every role; null: each role's own. */
  readonly model: string | null;
  /** The rule-based server has to be started for it. */
  readonly demo: boolean;
  /** What there is to say about it, for stderr. */
  readonly notice: string;
}

const DEMO_NAME = `openai/${DEMO_MODEL}`;
const RULES = "fixed rules, no language model; simulated costs";

/** `asked`: of `--model`. `unasked`: whether the rule-based one may step in where no provider can be reached. A key is never spent unasked. */
export function chooseModel(asked: string | undefined, env: NodeJS.ProcessEnv, unasked: boolean): ModelChoice {
  const found = providersIn(env);
  if (asked !== undefined && asked !== "demo" && !/^[^/\s]+\/\S+$/.test(asked))
    throw new UsageError(`--model "${asked}" is no model: write provider/name, as in openai/gpt-5-mini, or demo.`);
  const refused = asked === undefined || asked === "demo" ? null : modelRefusal(asked, env);
  if (refused?.code === "model.unknown") throw new UsageError(`--model ${asked}: ${refused.message}`);
  if (asked === "demo") {
    const unspent =
      found.length === 0
        ? ""
        : ` ${found.join(" and ")} in the environment stay${found.length === 1 ? "s" : ""} unused.`;
    return { model: DEMO_NAME, demo: true, notice: `The demo model answers (${RULES}).${unspent}` };
  }
  const none = "No provider key is set";
  if (found.length === 0 && asked === undefined && unasked) {
    const notice = `${none}: the demo model answers (${RULES}). OPENAI_API_KEY, ANTHROPIC_API_KEY or OPENAI_BASE_URL brings a real one.`;
    return { model: DEMO_NAME, demo: true, notice };
  }
  const missing =
    asked === undefined ? ": set what your models need (`toren doctor` says what), or start with --model demo" : "";
  const uses = found.length === 0 ? `${none}${missing}.` : `Using ${found.join(" and ")} of the environment.`;
  return {
    model: asked ?? null,
    demo: false,
    notice: asked === undefined ? uses : `${uses} ${asked} answers for every role.`,
  };
}

export interface DemoModel {
  readonly pid: number;
  /** What the `openai/` provider has to see to reach it. */
  readonly env: NodeJS.ProcessEnv;
  close(): Promise<void>;
}

const CLI = fileURLToPath(new URL("../cli.ts", import.meta.url));
const START_MS = 15_000;

/** Starts the rule-based model server as a process of its own. It ends with us, however we end: its standard input closes then. */
export async function startDemoModel(env: NodeJS.ProcessEnv): Promise<DemoModel> {
  const child = spawn(process.execPath, [CLI, "model-server", "--json", "--until-input-ends"], {
    stdio: ["pipe", "pipe", "inherit"],
    env,
    detached: true, // a terminal's Ctrl-C is for us: what runs comes to a step boundary first
  });
  const url = await firstLine(child);
  return {
    pid: child.pid ?? 0,
    env: { ...env, OPENAI_BASE_URL: url, OPENAI_API_KEY: "demo" },
    close: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const ended = new Promise((resolve) => child.once("exit", resolve));
      child.kill("SIGTERM");
      await ended;
    },
  };
}

function firstLine(child: ChildProcess): Promise<string> {
  const failed = (why: string) => new TorenError("server.unreachable", `The demo model's server didn't start: ${why}.`);
  return new Promise((resolve, reject) => {
    let text = "";
    const timer = setTimeout(() => {
      child.kill("SIGKILL");
      reject(failed(`nothing heard for ${START_MS / 1_000} s`));
    }, START_MS);
    const settle = (act: () => void): void => {
      clearTimeout(timer);
      act();
    };
    child.on("error", (e) => settle(() => reject(failed(e.message))));
    child.on("exit", (code, signal) => settle(() => reject(failed(`it ended with ${code ?? signal}`))));
    child.stdout?.setEncoding("utf8").on("data", (chunk: string) => {
      text += chunk;
      const end = text.indexOf("\n");
      if (end >= 0) settle(() => resolve((JSON.parse(text.slice(0, end)) as { url: string }).url));
    });
  });
}
