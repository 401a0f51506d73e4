// A conversation on the screen: what the agent says on stdout, all else on stderr. With --json every happening is one document a line on stdout.
import type { ApprovalJson, RunJson, TurnJson } from "../../shared/http/run-json.ts";
import type { Saying } from "../client/live-text.ts";
import { createBlock, lastLines } from "./block.ts";
import { mark, type Style, styleOf } from "./style.ts";
import { cut, oneLine, printable, type Terminal } from "./terminal.ts";
import { clock } from "./units.ts";
import { approvalLines, waitLines } from "./waits.ts";

export interface ChatScreen {
  readonly prompt: string;
  turn(turn: TurnJson): void;
  /** What was said before its user came. */
  before(turns: readonly TurnJson[]): void;
  approval(run: RunJson, asked: ApprovalJson): void;
  /** A cut that waits: it is decided elsewhere. */
  cut(run: RunJson): void;
  started(run: { readonly runId: string; readonly agent: string }): void;
  ended(run: RunJson): void;
  /** What there is to say to a person; in JSON nothing. */
  say(text: string): void;
  /** Shows that it works, until `rest`. `doing`: the tool that runs, if one does. */
  work(doing: string | null): void;
  /** What the model says meanwhile, as far as it has come; the turn that is recorded replaces it. */
  saying(saying: Saying | null): void;
  rest(): void;
}

const REDRAW_MS = 500;
/** Of what it thinks, the end is enough. */
const REASONING_LINES = 3;

export function chatScreen(terminal: Terminal, json: boolean): ChatScreen {
  return json ? jsonScreen(terminal) : textScreen(terminal);
}

function jsonScreen({ out, err }: Terminal): ChatScreen {
  const write = (value: unknown): void => out.write(`${JSON.stringify(value)}\n`);
  const turn = ({ by, text, at }: TurnJson): void => write({ type: by === "agent" ? "answer" : "message", text, at });
  return {
    prompt: "",
    turn,
    before: (turns) => turns.forEach(turn),
    approval: (_run, { call, tool, args, expiresAt }) => write({ type: "approval", call, tool, args, expiresAt }),
    cut: (run) => write({ type: "cut", cuts: run.cuts }),
    started: ({ runId, agent }) => write({ type: "session", runId, agent }),
    ended: ({ status, error }) => write({ type: "ended", status, ...(error === null ? {} : { error }) }),
    say: (text) => err.write(`${text}\n`),
    work: () => {},
    saying: () => {},
    rest: () => {},
  };
}

function textScreen({ out, err }: Terminal): ChatScreen {
  const style = styleOf(err);
  const live = err.size() !== null;
  const inked = out.size() !== null;
  const block = createBlock(err);
  const working = {
    since: 0,
    doing: null as string | null,
    saying: null as Saying | null,
    timer: undefined as NodeJS.Timeout | undefined,
  };
  const draw = (): void => {
    const doing = working.doing === null ? "" : ` · ${oneLine(working.doing)}`;
    const { columns, rows } = err.size() ?? { columns: 80, rows: 24 };
    const line = cut(`${clock(Date.now() - working.since)}${doing}`, columns - 2);
    block.draw([
      ...saidLines(working.saying, columns, rows - 3, style),
      `${mark("running", style)} ${style.dim(line)}`,
    ]);
  };
  const rest = (): void => {
    if (working.timer === undefined) return;
    clearInterval(working.timer);
    working.timer = undefined;
    working.saying = null;
    block.erase();
  };
  const say = (text: string): void => {
    rest();
    err.write(`${text}\n`);
  };
  const prompt = `${style.cyan("›")} `;
  const answer = (text: string): void => out.write(inked ? `${printable(text)}\n\n` : `${text}\n`);
  return {
    prompt,
    turn: ({ by, text }) => {
      rest();
      if (by === "user") return say(style.dim(`(from elsewhere) ${printable(text)}`));
      answer(text);
    },
    before: (turns) => {
      for (const { by, text } of turns)
        if (by === "user") say(`${prompt}${style.dim(printable(text))}`);
        else answer(text);
    },
    approval: (_run, asked) => say(approvalLines(asked, style, Date.now()).join("\n")),
    cut: (run) => say(waitLines(run, style, Date.now()).join("\n")),
    started: () => {},
    ended: ({ status, error }) => {
      const why = error === null ? "" : ` (${oneLine(`${error.code}: ${error.message}`)})`;
      say(style.dim(status === "completed" ? "The session is closed." : `The session has ${status}${why}.`));
    },
    say,
    work: (doing) => {
      if (!live || (doing !== null && working.timer === undefined)) return; // somebody else's turn, while a prompt stands here
      working.doing = doing;
      if (working.timer === undefined) {
        working.since = Date.now();
        working.timer = setInterval(draw, REDRAW_MS).unref();
      }
      draw();
    },
    saying: (saying) => {
      working.saying = saying;
      if (working.timer !== undefined) draw();
    },
    rest,
  };
}

function saidLines(saying: Saying | null, columns: number, most: number, style: Style): string[] {
  if (saying === null) return [];
  if (saying.text !== "") return lastLines(saying.text, columns, most);
  return lastLines(saying.reasoning.trimEnd(), columns, Math.min(most, REASONING_LINES)).map(style.dim);
}
