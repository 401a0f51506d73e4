// What people look for first: what is stuck, what went wrong, what waits for them, what is under way, and what it costs today.
import type { ComponentChildren } from "preact";
import { grouped, shortId, usd } from "../../local/terminal/units.ts";
import type { OverviewJson } from "../../shared/http/overview.ts";
import type { RunSummary } from "../../shared/http/run-json.ts";
import { get } from "../api.ts";
import type { IconName } from "../model/icons.ts";
import { href } from "../model/route.ts";
import { brief } from "../model/text.ts";
import { Empty, Head, Panel, Time } from "../parts/basics.tsx";
import { Icon } from "../parts/icon.tsx";
import { Loaded } from "../parts/loaded.tsx";
import { RunLines } from "../parts/run-lines.tsx";
import { useOverview, waitingRuns } from "../use-overview.ts";
import { useQuery } from "../use-query.ts";
import type { RunsPageJson } from "./runs.tsx";

const LIVE_MS = 4_000;
const NEWEST = 8;

export function Overview() {
  const overview = useOverview();
  const newest = useQuery("newest", (signal) => get<RunsPageJson>("runs", { limit: NEWEST }, signal), LIVE_MS);
  return (
    <>
      <Head title="Overview" />
      <div class="stack">
        <Loaded of={overview} lines={8}>
          {(now) => (
            <>
              <Figures of={now} />
              <div class="grid">
                <Panel title="Stuck">
                  <Stuck of={now} />
                </Panel>
                <Panel title="Last errors">
                  <Errors runs={now.errors} />
                </Panel>
              </div>
            </>
          )}
        </Loaded>
        <Panel
          title="Newest runs"
          end={
            <a class="link small" href={href("runs")}>
              All runs
            </a>
          }
        >
          <Loaded of={newest}>{({ runs }) => <Newest runs={runs} />}</Loaded>
        </Panel>
      </div>
    </>
  );
}

function Figures({ of }: { readonly of: OverviewJson }) {
  const { runs, today } = of;
  const waiting = waitingRuns(of);
  return (
    <nav class="stats large" aria-label="At a glance">
      <Figure icon="hand" name="Wait for you" to={href("approvals")} tone={waiting > 0 ? "wait" : ""}>
        {grouped(waiting)}
      </Figure>
      <Figure icon="warn" name="Stuck" to={href("overview")} tone={of.stuck.length > 0 ? "bad" : ""}>
        {grouped(of.stuck.length)}
      </Figure>
      <Figure icon="spinner" name="Under way" to={href("runs", null, { status: "running" })}>
        {grouped(runs.running + runs.created)}
      </Figure>
      <Figure icon="cross" name="Failed" to={href("runs", null, { status: "failed" })}>
        {grouped(runs.failed)}
      </Figure>
      <Figure
        icon="coin"
        name="Cost today"
        to={href("runs")}
        note={today.simulated ? "partly simulated" : "since midnight, UTC"}
      >
        {usd(today.costUsd)}
      </Figure>
    </nav>
  );
}

interface FigureProps {
  readonly icon: IconName;
  readonly name: string;
  readonly to: string;
  readonly tone?: string;
  readonly note?: string;
  readonly children: ComponentChildren;
}

const Figure = ({ icon, name, to, tone = "", note, children }: FigureProps) => (
  <a class="stat" href={to}>
    <span class="name">
      <Icon name={icon} /> {name}
    </span>
    <span class={tone === "" ? "figure" : `figure tone-${tone}`}>{children}</span>
    {note === undefined ? null : <span class="note-line">{note}</span>}
  </a>
);

const WHY = {
  crashing: "its workers die",
  steppedBack: "its writer stepped back",
  unclaimed: "nobody takes it",
  silent: "its worker is gone",
} as const;

const Stuck = ({ of }: { readonly of: OverviewJson }) =>
  of.stuck.length === 0 ? (
    <Empty icon="check" title="Nothing is stuck" low>
      <p class="small">Work that doesn't go on, whose workers die or step back, shows here.</p>
    </Empty>
  ) : (
    <ul class="list">
      {of.stuck.map((stuck) => (
        <li key={`${stuck.runId} ${stuck.stream}`}>
          <a class="item" href={href("runs", stuck.runId)}>
            <span class="row">
              <strong class="cut">{stuck.agent}</strong>
              <span class="mono tiny faint">{stuck.stream}</span>
              <span class="grow" />
              <span class="small soft">
                <Time at={stuck.since} />
              </span>
            </span>
            <span class="row small tone-wait">
              <Icon name="warn" /> {WHY[stuck.why]}
              {stuck.attempts > 1 ? `, ${stuck.attempts} took it` : ""}
            </span>
            {stuck.problem === null ? null : <span class="small soft cut">{brief(stuck.problem.message, 200)}</span>}
          </a>
        </li>
      ))}
    </ul>
  );

const Errors = ({ runs }: { readonly runs: readonly RunSummary[] }) =>
  runs.length === 0 ? (
    <Empty icon="check" title="No run has failed" low />
  ) : (
    <ul class="list">
      {runs.map((run) => (
        <li key={run.runId}>
          <a class="item" href={href("runs", run.runId)}>
            <span class="row">
              <strong class="cut">{run.agent}</strong>
              <span class="mono tiny faint">{shortId(run.runId)}</span>
              <span class="grow" />
              <span class="small soft">
                <Time at={run.endedAt} />
              </span>
            </span>
            <span class="small bad cut">{brief(run.error?.message ?? "", 200)}</span>
          </a>
        </li>
      ))}
    </ul>
  );

const Newest = ({ runs }: { readonly runs: readonly RunSummary[] }) =>
  runs.length === 0 ? (
    <Empty icon="play" title="No run yet" low>
      <a class="button first" href={href("start")}>
        <Icon name="plus" /> Start a run
      </a>
    </Empty>
  ) : (
    <RunLines runs={runs} to="runs" short />
  );
