// API keys, and who did what with them. A new key is shown once.
import { useState } from "preact/hooks";
import { shortId } from "../../local/terminal/units.ts";
import type { AuditPageJson, KeyJson, MadeKeyJson } from "../../shared/http/keys.ts";
import { get, post, remove } from "../api.ts";
import { href } from "../model/route.ts";
import { brief, shown } from "../model/text.ts";
import { ActedTable } from "../parts/acted-table.tsx";
import { Action, Dialog, say, useDoing } from "../parts/actions.tsx";
import { CopyButton, Empty, Head, Panel, Time } from "../parts/basics.tsx";
import { Icon } from "../parts/icon.tsx";
import { Loaded, LoadedPanel } from "../parts/loaded.tsx";
import { useAgents } from "../use-agents.ts";
import { useQuery } from "../use-query.ts";

const LIVE_MS = 10_000;
const SCOPES = [
  ["read", "look at everything"],
  ["run", "start, talk to and cancel runs, upload files"],
  ["approve", "decide about calls and edits"],
  ["admin", "all of it, and keys"],
] as const;
type Scope = (typeof SCOPES)[number][0];

export function KeysPage() {
  const keys = useQuery("keys", async (signal) => (await get<{ keys: KeyJson[] }>("keys", {}, signal)).keys, LIVE_MS);
  const [making, setMaking] = useState(false);
  const now = Date.now();
  const isOver = (key: KeyJson): boolean =>
    key.revokedAt !== null || (key.expiresAt !== null && Date.parse(key.expiresAt) < now);
  return (
    <>
      <Head title="Keys" note="Who may use the API and this console. Of a key only its hash is kept.">
        <button type="button" class="button first" onClick={() => setMaking(true)}>
          <Icon name="plus" /> New key
        </button>
      </Head>
      <div class="stack">
        <LoadedPanel of={keys}>
          {(all, refresh) => <KeysTable keys={all} isOver={isOver} refresh={refresh} />}
        </LoadedPanel>
        {keys.error === null && keys.value !== undefined ? <Audit key={stampOf(keys.value)} /> : null}
      </div>
      {making ? (
        <NewKey
          onClose={() => {
            setMaking(false);
            keys.refresh();
          }}
        />
      ) : null}
    </>
  );
}

/** What was done to keys is in the audit at once. */
const stampOf = (keys: readonly KeyJson[]): string =>
  `${keys.length} ${keys.filter((key) => key.revokedAt !== null).length}`;

interface TableProps {
  readonly keys: readonly KeyJson[];
  readonly isOver: (key: KeyJson) => boolean;
  readonly refresh: () => void;
}

function KeysTable({ keys, isOver, refresh }: TableProps) {
  if (keys.length === 0)
    return (
      <Empty icon="key" title="No key was made yet" low>
        <p>You are here with the key of the installation itself.</p>
      </Empty>
    );
  return (
    <ActedTable heads={[["Key"], ["May"], ["Last used", "wide-only"], ["Expires", "wide-only"]]}>
      {keys.map((key) => (
        <tr key={key.id}>
          <td>
            <strong>{shown(key.name)}</strong> <span class="mono tiny faint">{key.begins}…</span>
            <div class="tiny faint">
              made <Time at={key.createdAt} /> {key.createdBy === null ? "" : `by ${key.createdBy}`}
            </div>
          </td>
          <td class="small">
            {key.scopes.join(", ")}
            {key.agents === null ? null : <div class="tiny faint">only {key.agents.join(", ")}</div>}
          </td>
          <td class="small soft nowrap wide-only">
            <Time at={key.lastUsedAt} />
          </td>
          <td class="small soft nowrap wide-only">{key.expiresAt === null ? "never" : <Time at={key.expiresAt} />}</td>
          <td class="right">
            {isOver(key) ? (
              <span class="badge word tone-none">{key.revokedAt === null ? "expired" : "revoked"}</span>
            ) : (
              <Action
                small
                kind="danger"
                ask={`Whoever uses "${key.name}" is refused within seconds. It can't be taken back.`}
                onDo={async () => {
                  await remove(`keys/${key.id}`);
                  say(`${key.name} is revoked.`);
                  refresh();
                }}
              >
                Revoke
              </Action>
            )}
          </td>
        </tr>
      ))}
    </ActedTable>
  );
}

function NewKey({ onClose }: { readonly onClose: () => void }) {
  const agents = useAgents().value ?? [];
  const [name, setName] = useState("");
  const [scopes, setScopes] = useState<readonly Scope[]>(["read"]);
  const [only, setOnly] = useState<readonly string[]>([]);
  const [made, setMade] = useState<MadeKeyJson | null>(null);
  const [doing, run] = useDoing();
  if (made !== null) return <MadeKey made={made} onClose={onClose} />;
  const submit = (event: Event): void => {
    event.preventDefault();
    void run(async () =>
      setMade(await post<MadeKeyJson>("keys", { name, scopes, agents: only.length === 0 ? null : only })),
    );
  };
  return (
    <Dialog title="New key" onClose={onClose}>
      <form class="bare-form stack" onSubmit={submit}>
        <div class="field">
          <label for="key-name">Name</label>
          <input
            id="key-name"
            class="input"
            placeholder="What people know it by"
            maxLength={100}
            value={name}
            onInput={(e) => setName(e.currentTarget.value)}
          />
        </div>
        <Choices
          title="It may"
          choices={SCOPES.map(([scope, means]) => [scope, `${scope}: ${means}`])}
          chosen={scopes}
          onChange={setScopes}
        />
        <Choices
          title="Only for these agents (none: all)"
          choices={agents.map((agent) => [agent.name, agent.name])}
          chosen={only}
          onChange={setOnly}
        />
        <div class="row end">
          <button type="button" class="button" onClick={onClose}>
            Not now
          </button>
          <button type="submit" class="button first" disabled={doing || name.trim() === "" || scopes.length === 0}>
            Make it
          </button>
        </div>
      </form>
    </Dialog>
  );
}

interface ChoicesProps<T extends string> {
  readonly title: string;
  readonly choices: readonly (readonly [T, string])[];
  readonly chosen: readonly T[];
  readonly onChange: (chosen: readonly T[]) => void;
}

const Choices = <T extends string>({ title, choices, chosen, onChange }: ChoicesProps<T>) => (
  <fieldset class="field">
    <legend>{title}</legend>
    {choices.map(([one, words]) => (
      <label key={one} class="check">
        <input
          type="checkbox"
          checked={chosen.includes(one)}
          onChange={() => onChange(chosen.includes(one) ? chosen.filter((c) => c !== one) : [...chosen, one])}
        />
        {words}
      </label>
    ))}
  </fieldset>
);

const MadeKey = ({ made, onClose }: { readonly made: MadeKeyJson; readonly onClose: () => void }) => (
  <Dialog title={`The key "${made.name}"`} onClose={onClose}>
    <p class="soft">Copy it now: it is shown once, and kept nowhere.</p>
    <div class="row">
      <code class="text grow">{made.key}</code>
      <CopyButton text={made.key} what="key" />
    </div>
    <div class="row end">
      <button type="button" class="button first" onClick={onClose}>
        I have it
      </button>
    </div>
  </Dialog>
);

function Audit() {
  const [cursors, setCursors] = useState<readonly string[]>([]);
  const cursor = cursors.at(-1) ?? "";
  const audit = useQuery(`audit ${cursor}`, (signal) => get<AuditPageJson>("audit", { cursor }, signal));
  const next = audit.value?.next ?? null;
  const none = <Empty icon="list" title="Nothing was done yet" low />;
  return (
    <Panel
      title="Who did what"
      end={
        <div class="row">
          {cursors.length > 0 ? (
            <button type="button" class="button small" onClick={() => setCursors([])}>
              Newest
            </button>
          ) : null}
          {next === null ? null : (
            <button type="button" class="button small" onClick={() => setCursors([...cursors, next])}>
              Older
            </button>
          )}
        </div>
      }
    >
      <Loaded of={audit} empty={{ when: ({ entries }) => entries.length === 0, show: none }}>
        {({ entries }) => <AuditList entries={entries} />}
      </Loaded>
    </Panel>
  );
}

const AuditList = ({ entries }: { readonly entries: AuditPageJson["entries"] }) => (
  <ul class="list">
    {entries.map((entry, i) => (
      <li key={`${entry.at} ${i}`} class="item row">
        <span class="mono small nowrap">{entry.action}</span>
        {entry.runId === null ? null : (
          <a class="link small nowrap" href={href("runs", entry.runId)}>
            {entry.agent} {shortId(entry.runId)}
          </a>
        )}
        <span class="small soft cut grow">{brief(entry.subject ?? "", 120)}</span>
        <span class="small cut">{shown(entry.by)}</span>
        <span class="small soft nowrap">
          <Time at={entry.at} />
        </span>
      </li>
    ))}
  </ul>
);
