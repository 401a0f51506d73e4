// Everything that waits for a person's decision, over all runs, to be decided where it stands.

import { shortId } from "../../local/terminal/units.ts";
import type { RunJson } from "../../shared/http/run-json.ts";
import { get } from "../api.ts";
import { href } from "../model/route.ts";
import { Empty, Failure, Head, Panel, Skeleton, Time } from "../parts/basics.tsx";
import { ApprovalCard, CutCard } from "../parts/decide.tsx";
import { useWaiting } from "../parts/navigation.tsx";
import { useQuery } from "../use-query.ts";

/** Read whole at once; the others come up as these are decided. */
const SHOWN_RUNS = 20;
const LIVE_MS = 4_000;

export function ApprovalsPage() {
  const waiting = useWaiting();
  const all = waiting.value?.runs ?? [];
  const ids = all.slice(0, SHOWN_RUNS).map((run) => run.runId);
  const runs = useQuery(
    `waiting ${ids.join()}`,
    (signal) => Promise.all(ids.map((id) => get<RunJson>(`runs/${id}`, {}, signal))),
    LIVE_MS,
  );
  const refresh = (): void => {
    waiting.refresh();
    runs.refresh();
  };
  const error = waiting.error ?? runs.error;
  return (
    <>
      <Head title="Waits for you" note="Calls that a person must allow, and edits that would repeat an effect." />
      <div class="stack">
        {error === null ? null : <Failure error={error} retry={refresh} />}
        {waiting.value === undefined || (ids.length > 0 && runs.value === undefined) ? (
          error === null ? (
            <Skeleton />
          ) : null
        ) : ids.length === 0 ? (
          <Panel>
            <Empty icon="check" title="Nothing waits for you">
              <p>When an agent asks for permission, it shows here, and in the count beside this page's name.</p>
            </Empty>
          </Panel>
        ) : null}
        {runs.value?.map((run) => (
          <RunDecisions key={run.runId} run={run} onDecided={refresh} />
        ))}
        {all.length > SHOWN_RUNS ? <p class="soft">{all.length - SHOWN_RUNS} more runs wait.</p> : null}
      </div>
    </>
  );
}

function RunDecisions({ run, onDecided }: { readonly run: RunJson; readonly onDecided: () => void }) {
  const open = run.approvals.filter((approval) => approval.decided === null);
  if (open.length + run.cuts.length === 0) return null;
  return (
    <Panel
      title={
        <a href={href("runs", run.runId)}>
          {run.agent} <span class="mono tiny faint">{shortId(run.runId)}</span>
        </a>
      }
      end={
        <span class="small soft">
          run started <Time at={run.createdAt} />
        </span>
      }
    >
      {open.map((approval) => (
        <ApprovalCard key={approval.key} runId={run.runId} approval={approval} onDecided={onDecided} />
      ))}
      {run.cuts.map((cut) => (
        <CutCard key={cut.stream} runId={run.runId} cut={cut} onDecided={onDecided} />
      ))}
    </Panel>
  );
}
