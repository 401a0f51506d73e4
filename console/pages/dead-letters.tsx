// Dead letters: messages that nobody could work on. The run itself is unharmed; to send one again has somebody look once more.
import { useState } from "preact/hooks";
import { shortId } from "../../local/terminal/units.ts";
import type { DeadLetterJson } from "../../shared/http/dead-letters.ts";
import { get, post, remove } from "../api.ts";
import { href } from "../model/route.ts";
import { brief, readable } from "../model/text.ts";
import { ActedTable } from "../parts/acted-table.tsx";
import { Action, say } from "../parts/actions.tsx";
import { Empty, Head, Time } from "../parts/basics.tsx";
import { LoadedPanel } from "../parts/loaded.tsx";
import { useQuery } from "../use-query.ts";

interface LettersPage {
  readonly deadLetters: readonly DeadLetterJson[];
  readonly next: string | null;
}

const LIVE_MS = 8_000;

export function DeadLettersPage() {
  const [cursor, setCursor] = useState("");
  const letters = useQuery(
    `dead letters ${cursor}`,
    (signal) => get<LettersPage>("dead-letters", { cursor }, signal),
    LIVE_MS,
  );
  const next = letters.value?.next ?? null;
  const none = (
    <Empty icon="letter" title="No dead letters">
      <p>What kept failing would show here, to be sent again once its cause is mended.</p>
    </Empty>
  );
  return (
    <>
      <Head
        title="Dead letters"
        note="Messages that were received too often without being worked on. Their runs are unharmed."
      />
      <div class="stack">
        <LoadedPanel of={letters} empty={{ when: (page) => page.deadLetters.length === 0, show: none }}>
          {({ deadLetters }, refresh) => <LettersTable letters={deadLetters} refresh={refresh} />}
        </LoadedPanel>
        <div class="row">
          {cursor === "" ? null : (
            <button type="button" class="button" onClick={() => setCursor("")}>
              Newest
            </button>
          )}
          {next === null ? null : (
            <button type="button" class="button" onClick={() => setCursor(next)}>
              Older
            </button>
          )}
        </div>
      </div>
    </>
  );
}

/** A message names its run; one that could not be read names nothing. */
const subject = (body: unknown): { readonly runId?: unknown; readonly agent?: unknown; readonly taskId?: unknown } =>
  typeof body === "object" && body !== null ? body : {};

interface TableProps {
  readonly letters: readonly DeadLetterJson[];
  readonly refresh: () => void;
}

const LettersTable = ({ letters, refresh }: TableProps) => (
  <ActedTable heads={[["About"], ["Queue", "wide-only"], ["Tries", "right wide-only"], ["When"]]}>
    {letters.map((letter) => (
      <LetterRow key={letter.id} letter={letter} refresh={refresh} />
    ))}
  </ActedTable>
);

function LetterRow({ letter, refresh }: { readonly letter: DeadLetterJson; readonly refresh: () => void }) {
  const { runId, agent, taskId } = subject(letter.body);
  const path = `dead-letters/${encodeURIComponent(letter.id)}`;
  const done = (text: string) => (): void => {
    say(text);
    refresh();
  };
  return (
    <tr>
      <td>
        {typeof runId === "string" ? (
          <a class="run-link" href={href("runs", runId)}>
            <strong>{brief(String(agent), 60)}</strong>
            <span class="mono tiny faint">
              {shortId(runId)} {typeof taskId === "string" ? brief(taskId, 30) : ""}
            </span>
          </a>
        ) : (
          <span class="mono small">{brief(readable(letter.body), 120)}</span>
        )}
      </td>
      <td class="mono small soft wide-only">{letter.queue}</td>
      <td class="right small soft wide-only">{letter.receiveCount}</td>
      <td class="small soft nowrap">
        <Time at={letter.recordedAt} />
      </td>
      <td>
        <div class="row wrap end tight">
          <Action small icon="retry" onDo={() => post(`${path}/send`).then(done("It is sent again."))}>
            Send again
          </Action>
          <Action
            small
            kind="danger"
            ask="The message is forgotten. Its run stays; the guardian looks after it as after any other."
            onDo={() => remove(path).then(done("It is dropped."))}
          >
            Drop
          </Action>
        </div>
      </td>
    </tr>
  );
}
