// Runs, a line each, that lead to their pages.
import { shortId } from "../../local/terminal/units.ts";
import type { RunSummary } from "../../shared/http/run-json.ts";
import { href } from "../model/route.ts";
import { StatusBadge, Time } from "./basics.tsx";

interface Props {
  readonly runs: readonly RunSummary[];
  /** Where a line leads: the run, or the conversation that it is. */
  readonly to: "runs" | "chat";
  /** Leaves the time out on narrow screens. */
  readonly short?: boolean;
}

export const RunLines = ({ runs, to, short = false }: Props) => (
  <ul class="list">
    {runs.map((run) => (
      <li key={run.runId}>
        <a class="item row" href={href(to, run.runId)}>
          <strong class="cut">{run.agent}</strong>
          <span class="mono tiny faint">{shortId(run.runId)}</span>
          <span class="grow" />
          <span class={short ? "small soft wide-only" : "small soft"}>
            <Time at={run.createdAt} />
          </span>
          <StatusBadge status={run.status} />
        </a>
      </li>
    ))}
  </ul>
);
