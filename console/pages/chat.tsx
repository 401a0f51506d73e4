// Conversations: the sessions at the left, the one that is read at the right.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { shortId } from "../../local/terminal/units.ts";
import type { RunJson, TurnJson, TurnsPageJson } from "../../shared/http/run-json.ts";
import { get, once, post } from "../api.ts";
import { href } from "../model/route.ts";
import { shown } from "../model/text.ts";
import { Action, say, useDoing } from "../parts/actions.tsx";
import { Empty, Head, NotYet, StatusBadge, Time } from "../parts/basics.tsx";
import { Waiting } from "../parts/decide.tsx";
import { Icon } from "../parts/icon.tsx";
import { LoadedPanel } from "../parts/loaded.tsx";
import { RunLines } from "../parts/run-lines.tsx";
import { useAgents } from "../use-agents.ts";
import { useLive } from "../use-live.ts";
import { useQuery } from "../use-query.ts";
import type { RunsPageJson } from "./runs.tsx";

export const ChatPage = ({ runId }: { readonly runId: string | null }) =>
  runId === null ? <Sessions /> : <Conversation key={runId} runId={runId} />;

const SESSIONS_MS = 5_000;
const LIVE_MS = 1_000;

function Sessions() {
  const agents = useAgents();
  const sessions = useQuery(
    "sessions",
    async (signal) =>
      (await get<RunsPageJson>("runs", { limit: 200 }, signal)).runs.filter((run) => run.mode === "session"),
    SESSIONS_MS,
  );
  const talkers = (agents.value ?? []).filter((agent) => agent.sessions.length > 0);
  const none = (
    <Empty icon="chat" title="No conversation yet">
      <p>
        {talkers.length === 0 ? (
          <>
            An agent with <code>mode: session</code> is one to talk with.
          </>
        ) : (
          "Begin one above."
        )}
      </p>
    </Empty>
  );
  return (
    <>
      <Head title="Conversations" note="Sessions go on for as long as you like; while they wait, nothing runs.">
        {talkers.map((agent) => (
          <a
            key={agent.name}
            class="button"
            href={href("start", null, { agent: agent.name, process: agent.sessions[0] ?? "main" })}
          >
            <Icon name="plus" /> Talk to {agent.name}
          </a>
        ))}
      </Head>
      <div class="stack">
        <LoadedPanel of={sessions} empty={{ when: (runs) => runs.length === 0, show: none }}>
          {(runs) => <RunLines runs={runs} to="chat" />}
        </LoadedPanel>
      </div>
    </>
  );
}

function Conversation({ runId }: { readonly runId: string }) {
  const path = `runs/${encodeURIComponent(runId)}`;
  const [over, setOver] = useState(false);
  const { value: run, error, refresh } = useQuery(path, (signal) => get<RunJson>(path, {}, signal), over ? 0 : LIVE_MS);
  useEffect(() => setOver(run?.endedAt != null), [run]);
  if (run === undefined) return <NotYet title="Conversation" error={error} retry={refresh} />;
  if (run.turns === null)
    return (
      <>
        <Head title="This run is no conversation" />
        <a class="button" href={href("runs", runId)}>
          Open the run
        </a>
      </>
    );
  return (
    <>
      <Head
        title={
          <span class="row wrap">
            {run.agent} <StatusBadge status={run.status} />
          </span>
        }
        note={<span class="mono">{shortId(run.runId)}</span>}
      >
        <a class="button" href={href("runs", runId)}>
          <Icon name="list" /> Timeline
        </a>
        {run.endedAt === null ? (
          <Action
            icon="stop"
            ask="The conversation ends. What was said stays to be read."
            onDo={async () => {
              await post(`${path}/messages`, { close: true }, once());
              say("The conversation ends.");
              refresh();
            }}
          >
            End it
          </Action>
        ) : null}
      </Head>
      <section class="panel chat" aria-label="Conversation">
        <Talk run={run} refresh={refresh} />
        <Composer run={run} refresh={refresh} />
      </section>
    </>
  );
}

/** Turns before those that a run shows, a page at a time. */
function useEarlier(run: RunJson) {
  const [earlier, setEarlier] = useState<readonly TurnJson[]>([]);
  const [doing, go] = useDoing();
  const first = earlier[0] ?? run.turns?.[0];
  const more = first !== undefined && first.seq > 0;
  const load = (): Promise<void> =>
    go(async () => {
      const page = await get<TurnsPageJson>(`runs/${run.runId}/turns`, { before: first?.seq ?? 0 });
      setEarlier([...page.turns, ...earlier]);
    });
  return { earlier, more, doing, load };
}

function Talk({ run, refresh }: { readonly run: RunJson; readonly refresh: () => void }) {
  const { earlier, more, doing, load } = useEarlier(run);
  const known = new Set(earlier.map((turn) => turn.seq));
  const turns = [...earlier, ...(run.turns ?? []).filter((turn) => !known.has(turn.seq))];
  const end = useRef<HTMLDivElement>(null);
  const busy = run.endedAt === null && ["running", "created", "waitingRetry"].includes(run.status);
  const last = turns.at(-1)?.seq ?? 0;
  const on = busy && run.waves.length > 0; // before its first tick there is no stream to hear
  const saying = useLive({ runId: run.runId, stream: "task:w0t0", after: last, on, onRecorded: refresh });
  useEffect(() => {
    end.current?.scrollIntoView({ block: "end" });
  }, [last, busy, saying.text]);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keys
    <div class="talk" tabIndex={0} role="log" aria-label="What was said">
      {more ? (
        <p style={{ textAlign: "center", paddingBottom: "16px" }}>
          <button type="button" class="button small" disabled={doing} onClick={load}>
            Earlier
          </button>
        </p>
      ) : null}
      <ol>
        {turns.map((turn) => (
          <li key={turn.seq} class={`said ${turn.by}`}>
            <span class="hidden">{turn.by === "user" ? "You" : run.agent}</span>
            <div class="bubble">{shown(turn.text)}</div>
            <Time at={turn.at} />
          </li>
        ))}
        {busy ? (
          <li class="said agent">
            {saying.text === "" ? (
              <span class="dots" role="status" aria-label="It is answering">
                <i />
                <i />
                <i />
              </span>
            ) : (
              <div class="bubble saying">{shown(saying.text)}</div>
            )}
          </li>
        ) : null}
      </ol>
      <div style={{ maxWidth: "760px", margin: "20px auto 0" }}>
        <Waiting run={run} onDecided={refresh} />
      </div>
      {run.error === null ? null : <p class="bad small">{shown(run.error.message)}</p>}
      <div ref={end} />
    </div>
  );
}

function Composer({ run, refresh }: { readonly run: RunJson; readonly refresh: () => void }) {
  const [text, setText] = useState("");
  const [doing, go] = useDoing();
  const key = useMemo(once, [text]); // another text is another message
  if (run.endedAt !== null) return <p class="composer soft">The conversation has ended.</p>;
  const send = (): Promise<void> =>
    go(async () => {
      if (text.trim() === "") return;
      await post(`runs/${run.runId}/messages`, { text }, key);
      setText((now) => (now.startsWith(text) ? now.slice(text.length) : now)); // somebody may have typed on
      refresh();
    });
  return (
    <form
      class="composer"
      onSubmit={(e) => {
        e.preventDefault();
        void send();
      }}
    >
      <textarea
        class="input"
        rows={1}
        aria-label="Message"
        placeholder="Say something. Enter sends, Shift + Enter begins a new line."
        value={text}
        onInput={(e) => setText(e.currentTarget.value)}
        onKeyDown={(e) => {
          if (e.key !== "Enter" || e.shiftKey || e.isComposing) return;
          e.preventDefault();
          void send();
        }}
      />
      <button type="submit" class="button first" style={{ minHeight: "40px" }} disabled={doing || text.trim() === ""}>
        Send
      </button>
    </form>
  );
}
