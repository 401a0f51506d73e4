// One run: what it is about, what waits for somebody, its figures, its timeline.
import { useEffect, useState } from "preact/hooks";
import { clock, duration, grouped, shortId, tokens } from "../../local/terminal/units.ts";
import type { RunJson } from "../../shared/http/run-json.ts";
import { get, post } from "../api.ts";
import { href } from "../model/route.ts";
import { shown } from "../model/text.ts";
import { readAhead } from "../outlines.ts";
import { Action, say } from "../parts/actions.tsx";
import { CopyButton, Cost, Failure, NotYet, StatusBadge, Time, useNow } from "../parts/basics.tsx";
import { Export, Fork } from "../parts/copies.tsx";
import { Waiting } from "../parts/decide.tsx";
import { Children, Parent } from "../parts/family.tsx";
import { Icon } from "../parts/icon.tsx";
import { Signals } from "../parts/signals.tsx";
import { Trace } from "../parts/trace.tsx";
import { useQuery } from "../use-query.ts";

const LIVE_MS = 1_000;

export function RunPage({ runId }: { readonly runId: string }) {
  const [over, setOver] = useState(false);
  const path = `runs/${encodeURIComponent(runId)}`;
  const { value: run, error, refresh } = useQuery(path, (signal) => get<RunJson>(path, {}, signal), over ? 0 : LIVE_MS);
  useEffect(() => {
    const over = new AbortController();
    readAhead(runId, over.signal);
    return () => over.abort();
  }, [runId]);
  const [beat, setBeat] = useState(0);
  useEffect(() => {
    setOver(run?.endedAt != null);
    setBeat((n) => n + 1);
  }, [run]);
  if (run === undefined) return <NotYet title="Run" error={error} retry={refresh} />;
  return (
    <div class="stack">
      {error === null ? null : <Failure error={error} retry={refresh} />}
      <Top run={run} refresh={refresh} />
      <Reason run={run} />
      <Waiting run={run} onDecided={refresh} />
      <Signals run={run} onSent={refresh} />
      <Figures run={run} />
      <Children run={run} />
      <Trace run={run} beat={beat} />
    </div>
  );
}

function Top({ run, refresh }: { readonly run: RunJson; readonly refresh: () => void }) {
  const told = (text: string) => (): void => {
    say(text);
    refresh();
  };
  const path = `runs/${run.runId}`;
  return (
    <header class="head" style={{ marginBottom: 0 }}>
      <div class="grow">
        <nav class="small soft" aria-label="Path">
          <a class="link" href={href("runs")}>
            Runs
          </a>{" "}
          /{" "}
          <a class="link" href={href("runs", null, { agent: run.agent })}>
            {run.agent}
          </a>
        </nav>
        <h1 class="row wrap">
          {run.agent}
          {run.process === "main" ? null : <span class="soft">{run.process}</span>}
          <StatusBadge status={run.status} />
        </h1>
        <Origin run={run} />
      </div>
      <div class="actions">
        {run.mode === "session" ? (
          <a class="button" href={href("chat", run.runId)}>
            <Icon name="chat" /> Conversation
          </a>
        ) : null}
        {run.status === "failed" && run.parent === null ? (
          <Action
            kind="first"
            icon="retry"
            onDo={() => post(`${path}/retry`).then(told("It goes on; what is recorded isn't paid again."))}
          >
            Retry
          </Action>
        ) : null}
        <Export runId={run.runId} />
        <Fork runId={run.runId} from={null} label="Fork" />
        {run.endedAt === null ? (
          <>
            <Action icon="play" onDo={() => post(`${path}/resume`).then(told("Somebody looks at it now."))}>
              Look again
            </Action>
            <Action
              kind="danger"
              icon="stop"
              ask="The run stops at its next step. What is recorded stays."
              onDo={() =>
                post(`${path}/cancel`, { reason: "cancelled in the console" }).then(told("It was told to stop."))
              }
            >
              Cancel the run
            </Action>
          </>
        ) : null}
      </div>
    </header>
  );
}

function Origin({ run }: { readonly run: RunJson }) {
  return (
    <p class="row wrap small" style={{ gap: "4px" }}>
      <span class="mono" title={run.runId}>
        {shortId(run.runId)}
      </span>
      <CopyButton text={run.runId} what="id" />
      <span>
        started <Time at={run.createdAt} /> by generation {run.generation}
      </span>
      {run.forkedFrom === null ? null : (
        <span>
          , forked from{" "}
          <a class="link mono" href={href("runs", run.forkedFrom)}>
            {shortId(run.forkedFrom)}
          </a>
        </span>
      )}
      <Parent run={run} />
    </p>
  );
}

function Reason({ run }: { readonly run: RunJson }) {
  const waits = run.approvals.some((a) => a.decided === null) || run.cuts.length > 0;
  if (run.reason === null || waits || run.status === "awaitingInput") return null;
  const failed = run.status === "failed";
  return (
    <div class={`note ${failed ? "bad-note" : "wait-note"}`}>
      <Icon name={failed ? "cross" : "warn"} />
      <p class="grow">{shown(run.reason)}</p>
    </div>
  );
}

function Figures({ run }: { readonly run: RunJson }) {
  const now = useNow(run.endedAt === null ? 1_000 : 0);
  const from = Date.parse(run.createdAt);
  const { usage, receipt } = run;
  const input = usage.input + usage.cacheRead + usage.cacheWrite;
  return (
    <dl class="stats">
      <div class="stat">
        <dt>{run.endedAt === null ? "Since its start" : "Took"}</dt>
        <dd>{run.endedAt === null ? clock(now - from) : duration(Date.parse(run.endedAt) - from)}</dd>
      </div>
      <div class="stat">
        <dt>Model calls</dt>
        <dd>{grouped(receipt.modelCalls)}</dd>
        <dd class="note-line">{receipt.unanswered === 0 ? "" : `${receipt.unanswered} more without an answer`}</dd>
      </div>
      <div class="stat">
        <dt>Tokens</dt>
        <dd>{tokens(input + usage.output)}</dd>
        <dd class="note-line">
          {tokens(input)} in, {tokens(usage.output)} out
          {usage.cacheRead > 0 ? `, ${tokens(usage.cacheRead)} cached` : ""}
        </dd>
      </div>
      <div class="stat">
        <dt>Cost</dt>
        <dd>{run.costUsd === null ? "unknown" : <Cost usd={run.costUsd} simulated={false} />}</dd>
        <dd class="note-line">{run.simulated ? "simulated prices" : budgetWords(run)}</dd>
      </div>
      <div class="stat">
        <dt>Used again, not paid</dt>
        <dd class={receipt.replayed > 0 ? "tone-replay" : ""}>{grouped(receipt.replayed)}</dd>
        <dd class="note-line">
          {receipt.replayed > 0 ? `${tokens(receipt.savedTokens)} tokens saved` : "recorded answers"}
        </dd>
      </div>
      <div class="stat">
        <dt>Paid twice</dt>
        <dd class={receipt.repaid > 0 ? "tone-bad" : ""}>{grouped(receipt.repaid)}</dd>
        <dd class="note-line">{receipt.repaid === 0 ? "as it should be" : "recorded answers asked for again"}</dd>
      </div>
    </dl>
  );
}

const budgetWords = ({ budget }: RunJson): string =>
  budget?.maxCostUsd == null ? "" : `of $${budget.maxCostUsd} that it may use`;
