// What a conversation shows of a session that has gone on without its user.
import { expect, test } from "@jest/globals";
import type { Api } from "../../../local/client/api.ts";
import { converse } from "../../../local/client/conversation.ts";
import type { Follower } from "../../../local/client/follow.ts";
import type { ChatScreen } from "../../../local/terminal/chat-screen.ts";
import type { LineInput } from "../../../local/terminal/lines.ts";
import { TorenError } from "../../../shared/core/errors.ts";
import type { RunJson, TurnJson } from "../../../shared/http/run-json.ts";

const AT = "2026-01-01T00:00:00Z";
const turn = (seq: number): TurnJson => ({ seq, by: seq % 2 === 0 ? "user" : "agent", text: `t${seq}`, at: AT });
const turns = (from: number, to: number): TurnJson[] => Array.from({ length: to - from + 1 }, (_, i) => turn(from + i));
const ended = (said: TurnJson[]): RunJson =>
  ({ runId: "r", status: "completed", endedAt: AT, turns: said, turnCount: 100, cuts: [], approvals: [] }) as never;

async function shownOf(shown: number, run: RunJson, pages: Api["turns"]): Promise<string[]> {
  const seen: string[] = [];
  const quiet = { work: () => {}, rest: () => {}, say: () => {}, prompt: "" };
  const screen = { ...quiet, turn: ({ text }: TurnJson) => void seen.push(text) } as unknown as ChatScreen;
  const follower = { api: { turns: pages } as Api, after: "", until: async () => run };
  const interrupted = new AbortController().signal;
  await converse({ runId: "r", lines: {} as never, screen, user: "ann", interrupted, shown, follower: () => follower });
  return seen;
}
const texts = (from: number, to: number): string[] => turns(from, to).map(({ text }) => text);

test("what stands before the last turns is read too, back to what was shown, and each is shown once", async () => {
  const asked: (string | undefined)[] = [];
  const pages: Api["turns"] = async (_, { before } = {}) => {
    asked.push(before === undefined ? undefined : String(before));
    const to = Number(before) - 1;
    return { turns: turns(Math.max(0, to - 19), to), next: to > 19 ? to - 19 : null };
  };
  expect(await shownOf(12, ended(turns(50, 99)), pages)).toEqual(texts(13, 99));
  expect(asked).toEqual(["50", "30"]);
  expect(await shownOf(-1, ended(turns(50, 99)), pages)).toEqual(texts(0, 99));
  asked.length = 0;
  expect(await shownOf(80, ended(turns(50, 99)), pages)).toEqual(texts(81, 99));
  expect(await shownOf(49, ended(turns(50, 99)), pages)).toEqual(texts(50, 99));
  expect(asked).toEqual([]);
});

test("a server that is away for a moment loses none of it", async () => {
  let tries = 0;
  const pages: Api["turns"] = async () => {
    if (++tries === 1) throw new TorenError("server.unreachable", "No server answers.");
    return { turns: turns(40, 49), next: 40 };
  };
  expect(await shownOf(44, ended(turns(50, 52)), pages)).toEqual(texts(45, 52));
});

test("a server that stays away ends a conversation whose user is at the prompt", async () => {
  const waits = { ...ended([turn(0), turn(1)]), status: "awaitingInput", endedAt: null } as RunJson;
  let asked = 0;
  const follower: Follower = {
    api: {} as Api,
    after: "",
    until: async () => {
      if (++asked === 1) return waits;
      throw new TorenError("server.unreachable", "No server answers.");
    },
  };
  const lines: LineInput = {
    interactive: true,
    next: (_, signal) =>
      new Promise((resolve) => signal.addEventListener("abort", () => resolve({ type: "aborted" }), { once: true })),
  };
  const nothing = () => {};
  const screen = { work: nothing, rest: nothing, say: nothing, turn: nothing, prompt: "" } as unknown as ChatScreen;
  const interrupted = new AbortController().signal;
  const talk = { runId: "r", lines, screen, user: "ann", interrupted, shown: 1, follower: () => follower };
  await expect(converse(talk)).rejects.toMatchObject({ code: "server.unreachable" });
});
