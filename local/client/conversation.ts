// A conversation with a session, from its user's side: wait until it needs somebody, show what is new, take a line, say it. Whatever is shown comes from
// whole readings of the run, so that nothing is missed and nothing shown twice, also when others speak in the same session.
import { randomUUID } from "node:crypto";
import { TorenError } from "../../shared/core/errors.ts";
import type { PageEvent } from "../../shared/http/events-page.ts";
import type { ApprovalJson, RunJson, TurnJson } from "../../shared/http/run-json.ts";
import type { ChatScreen } from "../terminal/chat-screen.ts";
import type { Line, LineInput } from "../terminal/lines.ts";
import { isEnded } from "../terminal/tree.ts";
import { openApprovals } from "../terminal/waits.ts";
import type { Api, NewMessage } from "./api.ts";
import type { Follower } from "./follow.ts";

export interface ConversationDeps {
  readonly runId: string;
  readonly lines: LineInput;
  readonly screen: ChatScreen;
  readonly user: string;
  readonly interrupted: AbortSignal;
  /** The last turn that needn't be shown, by its seq; -1: all are new. */
  readonly shown: number;
  follower(onEvents: (events: readonly PageEvent[]) => void): Follower;
}

/** Null: its user left, and it goes on without them. */
export async function converse(deps: ConversationDeps): Promise<RunJson | null> {
  const { screen, interrupted } = deps;
  const talk = createTalk(deps);
  for (;;) {
    screen.work(null);
    const run = await talk.follower.until(talk.needsSomebody, interrupted);
    screen.rest();
    if (run === null) return null;
    await talk.show(run);
    if (isEnded(run)) return run;
    const asked = openApprovals(run).find((a) => !talk.passed.has(a.key));
    if (asked !== undefined) {
      if (!(await decide(talk, run, asked))) return null;
    } else if (run.cuts.length > 0) {
      screen.cut(run);
      talk.cutsSaid = true;
    } else if (!(await speak(talk, run))) return null;
  }
}

interface Talk {
  readonly deps: ConversationDeps;
  readonly follower: Follower;
  /** Requests that were decided here, or are left to others, by key. */
  readonly passed: Set<string>;
  cutsSaid: boolean;
  /** Read, but not yet its turn. */
  held: Line | null;
  closing: boolean;
  needsSomebody(run: RunJson): boolean;
  show(run: RunJson): Promise<void>;
  say(message: NewMessage): Promise<void>;
  /** The next line, unless the run changes first: null. */
  lineOr(changed: (run: RunJson) => boolean, prompt: string): Promise<Line | null>;
}

function createTalk(deps: ConversationDeps): Talk {
  const { runId, lines, screen, interrupted } = deps;
  let shown = deps.shown;
  const ours: string[] = [];
  const follower = deps.follower((events) => {
    const doing = events.findLast((e) => e.type === "ToolCallStarted" || e.type === "ToolCallCompleted");
    if (doing?.type === "ToolCallStarted") screen.work(String((doing.payload as { tool?: unknown }).tool));
  });
  const patiently = <T>(ask: () => Promise<T>): Promise<T> =>
    ask().catch(async (thrown) => {
      if (!(thrown instanceof TorenError) || thrown.code !== "server.unreachable") throw thrown;
      await follower.until(() => true, interrupted); // it, or another one, is back then
      return await ask();
    });
  const talk: Talk = {
    deps,
    follower,
    passed: new Set(),
    cutsSaid: false,
    held: null,
    closing: false,
    needsSomebody: (run) => {
      if (openApprovals(run).some((a) => !talk.passed.has(a.key))) return true;
      if (run.cuts.length > 0) return !talk.cutsSaid;
      talk.cutsSaid = false;
      const heard = (run.turns ?? []).filter((turn) => turn.by === "user" && turn.seq > shown).length;
      const answered = run.turns?.at(-1)?.by === "agent"; // the turns may be newer than the status
      return run.status === "awaitingInput" && answered && !talk.closing && heard >= ours.length;
    },
    show: async (run) => {
      for (const turn of await patiently(() => turnsAfter(follower.api, run, shown))) {
        const own = turn.by === "user" ? ours.indexOf(turn.text) : -1;
        if (own >= 0) ours.splice(own, 1);
        else screen.turn(turn);
        shown = turn.seq;
      }
    },
    say: async (message) => {
      if (message.text !== undefined) ours.push(message.text);
      if (message.close === true) talk.closing = true;
      const key = randomUUID();
      await patiently(() => follower.api.send(runId, message, key));
    },
    lineOr: async (changed, prompt) => {
      const got = new AbortController();
      const news = new AbortController();
      // Also when the run can't be followed any more: the prompt goes, and whoever sits before it is told why at once.
      const watching = follower.until(changed, AbortSignal.any([got.signal, interrupted])).finally(() => news.abort());
      const read = lines.next(prompt, AbortSignal.any([news.signal, interrupted])).finally(() => got.abort());
      const [line] = await Promise.all([read, watching]);
      return line.type === "aborted" ? null : line;
    },
  };
  return talk;
}

/** Those that the run shows, and where that isn't all, the ones before them. */
async function turnsAfter(api: Api, run: RunJson, after: number): Promise<TurnJson[]> {
  let turns = run.turns ?? [];
  for (let [first] = turns; first !== undefined && first.seq > Math.max(0, after + 1); [first] = turns) {
    const page = await api.turns(run.runId, { before: String(first.seq) });
    if (page.turns.length === 0) break;
    turns = [...page.turns, ...turns];
  }
  return turns.filter((turn) => turn.seq > after);
}

/** False: its user left. */
async function decide(talk: Talk, run: RunJson, asked: ApprovalJson): Promise<boolean> {
  const { deps, follower, passed } = talk;
  const { screen, lines, user, runId, interrupted } = deps;
  screen.approval(run, asked);
  const isDecided = (now: RunJson): boolean => !openApprovals(now).some((a) => a.key === asked.key);
  for (;;) {
    const line =
      talk.held ??
      (await talk.lineOr(
        isDecided,
        `  ${asked.reason === "unknownOutcome" ? "run it again" : "allow it"}? y, or n and why: `,
      ));
    if (line === null) {
      if (interrupted.aborted) return false;
      screen.say("  It has been decided elsewhere.");
      return true;
    }
    const answer = line.type === "line" ? /^\s*(y|yes|n|no)(?:[\s,:;]+(.*))?$/is.exec(line.text) : null;
    if (answer === null && lines.interactive && line.type === "line") continue;
    if (answer === null) {
      if (lines.interactive) return false; // Ctrl-D: it waits on
      talk.held = line;
      passed.add(asked.key);
      screen.say(
        `  What follows isn't y or n. Decide it with \`toren jobs approve ${runId}\` or \`toren jobs deny ${runId}\`.`,
      );
      return true;
    }
    talk.held = null;
    passed.add(asked.key);
    const granted = answer[1]?.toLowerCase().startsWith("y") === true;
    const comment = answer[2]?.trim() ?? "";
    await follower.api.approve(runId, { granted, call: asked.key, by: user, comment }).catch((thrown) => {
      if (!(thrown instanceof TorenError) || !TOO_LATE.has(thrown.code)) throw thrown;
      screen.say(`  ${thrown.message}`);
    });
    return true;
  }
}

const TOO_LATE: ReadonlySet<string> = new Set(["decision.taken", "approval.unknown", "run.ended"]);

/** False: its user left. */
async function speak(talk: Talk, run: RunJson): Promise<boolean> {
  const { screen, interrupted } = talk.deps;
  const last = run.turns?.at(-1)?.seq;
  const changed = (now: RunJson): boolean => now.status !== "awaitingInput" || now.turns?.at(-1)?.seq !== last;
  for (;;) {
    const line = talk.held ?? (await talk.lineOr(changed, screen.prompt));
    talk.held = null;
    if (line === null) return !interrupted.aborted;
    const command = commandOf(line);
    switch (command.type) {
      case "close":
        await talk.say({ close: true });
        return true;
      case "say":
        await talk.say({ text: command.text });
        return true;
      case "explain":
        screen.say(command.text);
        break;
      case "nothing":
        break;
    }
  }
}

export type ChatCommand =
  | { readonly type: "say" | "explain"; readonly text: string }
  | { readonly type: "close" | "nothing" };

export const CHAT_HELP =
  "/close or Ctrl-D closes the session, Ctrl-C leaves it as it is. To say something that begins with a slash, put a space before it.";

/** What a line means. A mistyped command isn't said to the agent: it would cost a call. */
export function commandOf(line: Line): ChatCommand {
  if (line.type !== "line") return { type: "close" };
  const text = line.text.trim();
  if (text === "") return { type: "nothing" };
  if (!line.text.startsWith("/")) return { type: "say", text };
  if (text === "/close") return { type: "close" };
  return {
    type: "explain",
    text: text === "/help" ? CHAT_HELP : `There is no ${text.split(/\s/)[0]} here. ${CHAT_HELP}`,
  };
}
