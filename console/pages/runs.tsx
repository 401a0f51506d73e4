// The runs: live, narrowed by what the address says, a page at a time.
import { useState } from "preact/hooks";
import { duration, shortId } from "../../local/terminal/units.ts";
import type { RunSummary } from "../../shared/http/run-json.ts";
import { get, post } from "../api.ts";
import { href, type Route } from "../model/route.ts";
import { lookOfRun, RUN_STATUSES } from "../model/status.ts";
import { brief } from "../model/text.ts";
import { Action, say } from "../parts/actions.tsx";
import { Empty, Failure, Head, Panel, Skeleton, StatusBadge, Time } from "../parts/basics.tsx";
import { Icon } from "../parts/icon.tsx";
import { useAgents } from "../use-agents.ts";
import { stepIn, useKeys } from "../use-keys.ts";
import { useQuery } from "../use-query.ts";
import { go, replaceQuery } from "../use-route.ts";

export interface RunsPageJson {
  readonly runs: readonly RunSummary[];
  readonly next: string | null;
}

const LIVE_MS = 3_000;
const PAGE = 50;

export function RunsPage({ route }: { readonly route: Route }) {
  const { agent = "", status = "", cursor = "" } = route.query;
  const query = { agent, status, cursor, limit: PAGE };
  const { value, error, refresh } = useQuery(
    `runs ${JSON.stringify(query)}`,
    (signal) => get<RunsPageJson>("runs", query, signal),
    LIVE_MS,
  );
  const runs = value?.runs ?? [];
  return (
    <>
      <Head title="Runs" note="Newest first, as they are now." />
      <Filters route={route} />
      {error === null ? null : <Failure error={error} retry={refresh} />}
      <Panel>
        {value === undefined ? (
          error === null ? (
            <Skeleton lines={8} />
          ) : null
        ) : runs.length === 0 ? (
          <None narrowed={agent !== "" || status !== "" || cursor !== ""} />
        ) : (
          <RunsTable key={JSON.stringify(query)} runs={runs} refresh={refresh} />
        )}
      </Panel>
      <Pages route={route} next={value?.next ?? null} />
    </>
  );
}

const None = ({ narrowed }: { readonly narrowed: boolean }) =>
  narrowed ? (
    <Empty icon="search" title="No run is like that">
      <p>
        <a class="link" href={href("runs")}>
          Show all runs
        </a>
      </p>
    </Empty>
  ) : (
    <Empty icon="play" title="No run yet">
      <p>Start one here, with the command line, or over the API.</p>
      <a class="button first" href={href("start")}>
        <Icon name="plus" /> Start a run
      </a>
    </Empty>
  );

function Filters({ route }: { readonly route: Route }) {
  const agents = useAgents().value ?? [];
  const { agent = "", status = "" } = route.query;
  const set = (name: string) => (event: { currentTarget: HTMLSelectElement }) =>
    replaceQuery(route, { [name]: event.currentTarget.value, cursor: null });
  return (
    <div class="filters">
      <select class="input short" aria-label="Agent" value={agent} onChange={set("agent")}>
        <option value="">All agents</option>
        {agents.map(({ name }) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </select>
      <select class="input short" aria-label="Status" value={status} onChange={set("status")}>
        <option value="">Any status</option>
        {RUN_STATUSES.map((name) => (
          <option key={name} value={name}>
            {lookOfRun(name).word}
          </option>
        ))}
      </select>
      {agent + status === "" ? null : (
        <a class="button plain" href={href("runs")}>
          Show all
        </a>
      )}
    </div>
  );
}

function Pages({ route, next }: { readonly route: Route; readonly next: string | null }) {
  const first = (route.query.cursor ?? "") === "";
  if (first && next === null) return null;
  return (
    <nav class="row" style={{ marginTop: "12px" }} aria-label="Pages of runs">
      {first ? null : (
        <a class="button" href={href("runs", null, { ...route.query, cursor: null })}>
          Newest
        </a>
      )}
      {next === null ? null : (
        <a class="button" href={href("runs", null, { ...route.query, cursor: next })}>
          Older
        </a>
      )}
    </nav>
  );
}

export function RunsTable({ runs, refresh }: { readonly runs: readonly RunSummary[]; readonly refresh: () => void }) {
  const [at, setAt] = useState<string | null>(null);
  const [marked, setMarked] = useState<ReadonlySet<string>>(new Set());
  const index = runs.findIndex((run) => run.runId === at);
  const toggle = (runId: string): void =>
    setMarked(new Set(marked.has(runId) ? [...marked].filter((id) => id !== runId) : [...marked, runId]));
  const move = (by: 1 | -1) => (): void => setAt(runs[stepIn(runs.length, index, by)]?.runId ?? null);
  useKeys({
    j: move(1),
    k: move(-1),
    ArrowDown: move(1),
    ArrowUp: move(-1),
    Enter: () => (at === null ? undefined : go("runs", at)),
    x: () => (at === null ? undefined : toggle(at)),
    Escape: () => (marked.size > 0 ? setMarked(new Set()) : setAt(null)),
  });
  const chosen = runs.filter((run) => marked.has(run.runId));
  return (
    <>
      {chosen.length === 0 ? null : (
        <Bulk
          runs={chosen}
          done={() => {
            setMarked(new Set());
            refresh();
          }}
        />
      )}
      <div class="scroll-x">
        <table class="table">
          <thead>
            <tr>
              <th class="tick wide-only">
                <input
                  type="checkbox"
                  aria-label="Mark all"
                  checked={chosen.length === runs.length}
                  onChange={() => setMarked(new Set(chosen.length === runs.length ? [] : runs.map((run) => run.runId)))}
                />
              </th>
              <th>Run</th>
              <th>Status</th>
              <th>Started</th>
              <th class="right wide-only">Took</th>
            </tr>
          </thead>
          <tbody>
            {runs.map((run) => (
              <RunRow
                key={run.runId}
                run={run}
                at={run.runId === at}
                marked={marked.has(run.runId)}
                toggle={() => toggle(run.runId)}
              />
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}

interface RowProps {
  readonly run: RunSummary;
  readonly at: boolean;
  readonly marked: boolean;
  readonly toggle: () => void;
}

function RunRow({ run, at, marked, toggle }: RowProps) {
  const took = run.endedAt === null ? null : Date.parse(run.endedAt) - Date.parse(run.createdAt);
  return (
    <tr
      class={at ? "go at" : "go"}
      ref={(row) => {
        if (at) row?.scrollIntoView({ block: "nearest" });
      }}
    >
      <td class="tick wide-only">
        <input type="checkbox" aria-label={`Mark ${shortId(run.runId)}`} checked={marked} onChange={toggle} />
      </td>
      <td>
        <a class="run-link" href={href("runs", run.runId)}>
          <span>
            <strong>{run.agent}</strong>
            {run.process === "main" ? null : <span class="soft"> {run.process}</span>}
          </span>
          <span class="mono tiny faint">{shortId(run.runId)}</span>
        </a>
        {run.error === null ? null : <div class="small bad cut error-line">{brief(run.error.message, 160)}</div>}
      </td>
      <td>
        <StatusBadge status={run.status} />
      </td>
      <td class="small soft nowrap">
        <Time at={run.createdAt} />
      </td>
      <td class="small soft right nowrap wide-only">{took === null ? "" : duration(took)}</td>
    </tr>
  );
}

/** Each is told by itself; what went wrong is counted, and the rest is done. */
async function forAll(runs: readonly RunSummary[], work: (run: RunSummary) => Promise<unknown>): Promise<number> {
  const results = await Promise.allSettled(runs.map(work));
  return results.filter((result) => result.status === "rejected").length;
}

function Bulk({ runs, done }: { readonly runs: readonly RunSummary[]; readonly done: () => void }) {
  const open = runs.filter((run) => run.endedAt === null);
  const cancel = async (): Promise<void> => {
    const failed = await forAll(open, (run) =>
      post(`runs/${run.runId}/cancel`, { reason: "cancelled in the console" }),
    );
    say(
      failed === 0 ? `${open.length} told to stop.` : `${open.length - failed} told to stop, ${failed} refused.`,
      failed > 0,
    );
    done();
  };
  return (
    <div class="row wrap bulk">
      <span class="small grow">{runs.length} marked</span>
      <Action
        small
        kind="danger"
        icon="stop"
        disabled={open.length === 0}
        ask={`${open.length} of them haven't ended; they stop at their next step.`}
        onDo={cancel}
      >
        Cancel
      </Action>
    </div>
  );
}
