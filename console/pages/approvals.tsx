// Everything that waits for a person's decision, over all runs, to be decided where it stands.
import { shortId } from "../../local/terminal/units.ts";
import type { OverviewJson } from "../../shared/http/overview.ts";
import { href } from "../model/route.ts";
import { Empty, Head, Panel, Time } from "../parts/basics.tsx";
import { ApprovalCard, CutCard } from "../parts/decide.tsx";
import { Loaded } from "../parts/loaded.tsx";
import { useOverview, waitingRuns } from "../use-overview.ts";

export function ApprovalsPage() {
  const overview = useOverview();
  return (
    <>
      <Head
        title="Waits for you"
        note="Calls that a person must allow, and edits that would repeat an effect. Oldest first."
      />
      <div class="stack">
        <Loaded of={overview}>{(all, refresh) => <Waiting of={all} onDecided={refresh} />}</Loaded>
      </div>
    </>
  );
}

function Waiting({ of, onDecided }: { readonly of: OverviewJson; readonly onDecided: () => void }) {
  const more = waitingRuns(of) - of.waiting.length;
  if (of.waiting.length === 0)
    return (
      <Panel>
        <Empty icon="check" title="Nothing waits for you">
          <p>When an agent asks for permission, it shows here, and in the count beside this page's name.</p>
        </Empty>
      </Panel>
    );
  return (
    <>
      {of.waiting.map((run) => (
        <RunDecisions key={run.runId} run={run} onDecided={onDecided} />
      ))}
      {more > 0 ? <p class="soft">{more} more wait. They come up as these are decided.</p> : null}
    </>
  );
}

interface DecisionsProps {
  readonly run: OverviewJson["waiting"][number];
  readonly onDecided: () => void;
}

const RunDecisions = ({ run, onDecided }: DecisionsProps) => (
  <Panel
    title={
      <a class="run-link" href={href("runs", run.runId)}>
        {run.agent} <span class="mono tiny faint">{shortId(run.runId)}</span>
      </a>
    }
    end={
      <span class="small soft">
        run started <Time at={run.createdAt} />
      </span>
    }
  >
    {run.approvals.map((approval) => (
      <ApprovalCard
        key={approval.key}
        runId={run.runId}
        approval={approval}
        omitted={approval.omitted}
        onDecided={onDecided}
      />
    ))}
    {run.cuts.map((cut) => (
      <CutCard key={cut.stream} runId={run.runId} cut={cut} onDecided={onDecided} />
    ))}
  </Panel>
);
