// What people look for first: what is stuck, what went wrong, what waits for them, what is under way.

import { shortId } from "../../local/terminal/units.ts";
import type { RunSummary } from "../../shared/http/run-json.ts";
import { get } from "../api.ts";
import type { IconName } from "../model/icons.ts";
import { href } from "../model/route.ts";
import { brief } from "../model/text.ts";
import { Empty, Failure, Head, Panel, Skeleton, StatusBadge, Time } from "../parts/basics.tsx";
import { Icon } from "../parts/icon.tsx";
import { useWaiting } from "../parts/navigation.tsx";
import { useQuery } from "../use-query.ts";
import type { RunsPageJson } from "./runs.tsx";

const LIVE_MS = 4_000;

export function Overview() {
  const waiting = useWaiting();
  const { value, error, refresh } = useQuery(
    "overview",
    async (signal) => {
      const of = (status: string): Promise<RunsPageJson> => get("runs", { status, limit: 8 }, signal);
      const [running, failed, newest] = await Promise.all([
        of("running"),
        of("failed"),
        get<RunsPageJson>("runs", { limit: 10 }, signal),
      ]);
      return { running, failed, newest };
    },
    LIVE_MS,
  );
  return (
    <>
      <Head title="Overview" />
      <div class="stack">
        {error === null ? null : <Failure error={error} retry={refresh} />}
        {value === undefined ? (
          error === null ? (
            <Skeleton lines={8} />
          ) : null
        ) : (
          <>
            <nav class="stats large" aria-label="At a glance">
              <Figure
                icon="hand"
                name="Wait for you"
                to={href("approvals")}
                n={waiting.value?.runs.length ?? 0}
                more={waiting.value?.more ?? false}
              />
              <Figure
                icon="spinner"
                name="Running"
                to={href("runs", null, { status: "running" })}
                n={value.running.runs.length}
                more={value.running.next !== null}
              />
              <Figure
                icon="cross"
                name="Failed"
                to={href("runs", null, { status: "failed" })}
                n={value.failed.runs.length}
                more={value.failed.next !== null}
              />
            </nav>
            <div class="grid">
              <Panel title="Last errors">
                <Errors runs={value.failed.runs} />
              </Panel>
              <Panel
                title="Newest runs"
                end={
                  <a class="link small" href={href("runs")}>
                    All runs
                  </a>
                }
              >
                <Newest runs={value.newest.runs} />
              </Panel>
            </div>
          </>
        )}
      </div>
    </>
  );
}

interface FigureProps {
  readonly icon: IconName;
  readonly name: string;
  readonly to: string;
  readonly n: number;
  readonly more: boolean;
}

const Figure = ({ icon, name, to, n, more }: FigureProps) => (
  <a class="stat" href={to}>
    <span class="name">
      <Icon name={icon} /> {name}
    </span>
    <span class="figure">
      {n}
      {more ? "+" : ""}
    </span>
  </a>
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
              <strong class="grow cut">{run.agent}</strong>
              <span class="small soft">
                <Time at={run.endedAt} />
              </span>
            </span>
            <span class="small bad cut">{brief(run.error?.message ?? "", 160)}</span>
            <span class="mono tiny faint">{run.error?.code}</span>
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
    <ul class="list">
      {runs.map((run) => (
        <li key={run.runId}>
          <a class="item row" href={href("runs", run.runId)}>
            <strong class="cut">{run.agent}</strong>
            <span class="mono tiny faint">{shortId(run.runId)}</span>
            <span class="grow" />
            <span class="small soft wide-only">
              <Time at={run.createdAt} />
            </span>
            <StatusBadge status={run.status} />
          </a>
        </li>
      ))}
    </ul>
  );
