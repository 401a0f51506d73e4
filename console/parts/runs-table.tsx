// Runs in a table: to go through with j and k, to mark, and to do something about all that are marked.
import { useState } from "preact/hooks";
import { duration, shortId, tokens, usd } from "../../local/terminal/units.ts";
import type { RunSummary } from "../../shared/http/run-json.ts";
import { post } from "../api.ts";
import { href } from "../model/route.ts";
import { brief } from "../model/text.ts";
import { stepIn, useKeys } from "../use-keys.ts";
import { go } from "../use-route.ts";
import { Action, say } from "./actions.tsx";
import { StatusBadge, Time } from "./basics.tsx";

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
              <th class="right wide-only">Tokens</th>
              <th class="right wide-only">Cost</th>
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
        <Labels of={run.attributes} />
        {run.error === null ? null : <div class="small bad cut error-line">{brief(run.error.message, 160)}</div>}
      </td>
      <td>
        <StatusBadge status={run.status} />
      </td>
      <td class="small soft nowrap">
        <Time at={run.createdAt} />
      </td>
      <td class="small soft right nowrap wide-only">{took === null ? "" : duration(took)}</td>
      <td class="small soft right nowrap wide-only">{run.tokens === 0 ? "" : tokens(run.tokens)}</td>
      <td
        class="small soft right nowrap wide-only"
        title={run.simulated ? "Simulated: prices of rule-based and scripted models are made up." : undefined}
      >
        {run.tokens === 0 ? "" : run.costUsd === null ? "unknown" : `${run.simulated ? "~" : ""}${usd(run.costUsd)}`}
      </td>
    </tr>
  );
}

const Labels = ({ of }: { readonly of: RunSummary["attributes"] }) => {
  const entries = Object.entries(of);
  if (entries.length === 0) return null;
  return (
    <span class="labels">
      {entries.map(([name, value]) => (
        <span key={name} class="badge word tone-none">
          {brief(`${name}: ${value}`, 48)}
        </span>
      ))}
    </span>
  );
};

/** Each is told by itself; what went wrong is counted, and the rest is done. */
async function forAll(runs: readonly RunSummary[], work: (run: RunSummary) => Promise<unknown>): Promise<number> {
  const results = await Promise.allSettled(runs.map(work));
  return results.filter((result) => result.status === "rejected").length;
}

interface BulkProps {
  readonly runs: readonly RunSummary[];
  readonly done: () => void;
}

function Bulk({ runs, done }: BulkProps) {
  const open = runs.filter((run) => run.endedAt === null);
  const failed = runs.filter((run) => run.status === "failed");
  const all = (some: readonly RunSummary[], route: string, body: object, did: string) => async (): Promise<void> => {
    const refused = await forAll(some, (run) => post(`runs/${run.runId}/${route}`, body));
    const said = `${some.length - refused} ${did}${refused === 0 ? "." : `, ${refused} refused.`}`;
    say(said, refused > 0);
    done();
  };
  return (
    <div class="row wrap bulk">
      <span class="small grow">{runs.length} marked</span>
      <Action
        small
        icon="retry"
        disabled={failed.length === 0}
        ask={`${failed.length} of them failed; they go on where they stopped, and nothing on record is paid again.`}
        onDo={all(failed, "retry", {}, "go on")}
      >
        Retry
      </Action>
      <Action
        small
        kind="danger"
        icon="stop"
        disabled={open.length === 0}
        ask={`${open.length} of them haven't ended; they stop at their next step.`}
        onDo={all(open, "cancel", { reason: "cancelled in the console" }, "told to stop")}
      >
        Cancel
      </Action>
    </div>
  );
}
