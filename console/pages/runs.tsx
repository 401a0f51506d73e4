// The runs: live, narrowed by what the address says, a page at a time.
import type { RunSummary } from "../../shared/http/run-json.ts";
import { get } from "../api.ts";
import { href, type Route } from "../model/route.ts";
import { Empty, Head } from "../parts/basics.tsx";
import { Icon } from "../parts/icon.tsx";
import { LoadedPanel } from "../parts/loaded.tsx";
import { Filters, isNarrowed, sinceTime } from "../parts/run-filters.tsx";
import { RunsTable } from "../parts/runs-table.tsx";
import { useQuery } from "../use-query.ts";

export interface RunsPageJson {
  readonly runs: readonly RunSummary[];
  readonly next: string | null;
}

const LIVE_MS = 3_000;
const PAGE = 50;

export function RunsPage({ route }: { readonly route: Route }) {
  const { agent = "", status = "", since = "", text = "", cursor = "" } = route.query;
  // By what was chosen, not by the time that it means now: the list stays the same one while time passes.
  const list = JSON.stringify([agent, status, since, text, cursor]);
  const page = useQuery(
    `runs ${list}`,
    (signal) => {
      const query = { agent, status, since: sinceTime(since), text, cursor, limit: PAGE };
      return get<RunsPageJson>("runs", query, signal);
    },
    LIVE_MS,
  );
  return (
    <>
      <Head title="Runs" note="Newest first, as they are now." />
      <Filters route={route} />
      <div class="stack">
        <LoadedPanel
          of={page}
          lines={8}
          empty={{ when: ({ runs }) => runs.length === 0, show: <None narrowed={isNarrowed(route)} /> }}
        >
          {({ runs }, refresh) => <RunsTable key={list} runs={runs} refresh={refresh} />}
        </LoadedPanel>
        <Pages route={route} next={page.value?.next ?? null} />
      </div>
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

function Pages({ route, next }: { readonly route: Route; readonly next: string | null }) {
  const first = (route.query.cursor ?? "") === "";
  if (first && next === null) return null;
  return (
    <nav class="row" aria-label="Pages of runs">
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
