// Scripted models, one a role, and the ledger of what they were asked.
import { createScriptedModel, type Turn } from "../../shared/adapters/model/script.ts";
import { closest } from "../../shared/core/closest.ts";
import { hash } from "../../shared/core/digest.ts";
import { messageOf } from "../../shared/core/errors.ts";
import { canonical, type Json } from "../../shared/core/json.ts";
import type { ModelRequest } from "../../shared/core/messages.ts";
import type { AgentDefinition } from "../../shared/ports/agents.ts";
import type { Model } from "../../shared/ports/model.ts";

/** What a scripted model is asked. */
export interface Question {
  /** The newest message: what the user said, the task's input, or the results of tools, one a line. */
  readonly text: string;
  readonly role: string;
  /** Questions of this role that came before. */
  readonly n: number;
  /** All of it, as a provider would get it: system prompt, tools, messages. */
  readonly request: ModelRequest;
}

/** Turns in the order in which the role asks, or a function. A function may wait; one that never answers is a provider that hangs. */
export type Script = readonly Turn[] | ((question: Question) => Turn | Promise<Turn>);

export interface Scripts {
  /** The agent with each role on a scripted model of its own. */
  readonly agent: AgentDefinition;
  /** By their whole names. */
  readonly models: Readonly<Record<string, Model>>;
  /** Questions that arrived, answered or not. */
  calls(role?: string): number;
  /** What went wrong in a script: the test's fault, not the agent's. */
  readonly problems: readonly string[];
  /** The worker died. A question of its that is asked again gets the turn that it had. */
  workerDied(): void;
}

/** @throws Error for a script of a role that the agent doesn't have. */
export function createScripts(agent: AgentDefinition, scripts: Readonly<Record<string, Script>>): Scripts {
  for (const role of Object.keys(scripts)) if (!agent.roles.has(role)) throw unknownRole(agent, role);
  const problems: string[] = [];
  const roles = [...agent.roles.values()];
  const byRole = new Map(roles.map(({ name }) => [name, scripted(name, scripts[name], problems)]));
  return {
    agent: {
      ...agent,
      roles: new Map(roles.map((role) => [role.name, { ...role, model: modelOf(role.name) }])),
      codeHash: hash(canonical([agent.codeHash, "scripted"])),
    },
    models: Object.fromEntries([...byRole].map(([name, { model }]) => [modelOf(name), model])),
    calls: (role) => {
      if (role !== undefined && !byRole.has(role)) throw unknownRole(agent, role);
      return [...byRole].reduce(
        (sum, [name, own]) => (role === undefined || role === name ? sum + own.asked() : sum),
        0,
      );
    },
    problems,
    workerDied: () => {
      for (const own of byRole.values()) own.workerDied();
    },
  };
}

const modelOf = (role: string): string => `mock/${role}`;

const unknownRole = ({ name, roles }: AgentDefinition, role: string): Error =>
  new Error(`Agent "${name}" has no role "${role}". ${closest(role, [...roles.keys()])}`);

interface ScriptedRole {
  readonly model: Model;
  asked(): number;
  workerDied(): void;
}

function scripted(role: string, script: Script | undefined, problems: string[]): ScriptedRole {
  const given: { readonly question: string; readonly turn: Turn }[] = [];
  let ofTheDead: typeof given = [];
  const next = async (request: ModelRequest, n: number): Promise<Turn> => {
    if (script === undefined)
      throw new Error(`Role "${role}" asks its model, and there is no script for it: give \`models.${role}\``);
    if (typeof script === "function") return script({ text: newest(request), role, n, request });
    const question = hash(canonical(request.messages as unknown as Json));
    const before = ofTheDead.findIndex((one) => one.question === question);
    const [again] = before < 0 ? [] : ofTheDead.splice(before, 1);
    const turn = again?.turn ?? script[given.length];
    if (turn === undefined)
      throw new Error(
        `The script of role "${role}" has ${script.length} turn${script.length === 1 ? "" : "s"}, and this is one question more`,
      );
    if (again === undefined) given.push({ question, turn });
    return turn;
  };
  const ledger = createScriptedModel(next);
  return {
    asked: () => ledger.ledger.length,
    workerDied: () => {
      ofTheDead = given.filter(({ turn }) => typeof turn === "string" || !("status" in turn));
    },
    model: {
      ask: async (request, signal, context) => {
        try {
          return await ledger.ask(request, signal, context);
        } catch (thrown) {
          const message = `${messageOf(thrown)}. It was asked: ${shown(newest(request))}`;
          problems.push(message);
          return { ok: false, failure: { error: { code: "model.unknown", message }, retryable: false } };
        }
      },
    },
  };
}

const newest = (request: ModelRequest): string =>
  (request.messages.at(-1)?.content ?? [])
    .flatMap((part) => (part.type === "text" || part.type === "toolResult" ? [part.text] : []))
    .join("\n");

const SHOWN_CHARS = 200;
const shown = (text: string): string =>
  JSON.stringify(text.length > SHOWN_CHARS ? `${text.slice(0, SHOWN_CHARS)}…` : text);
