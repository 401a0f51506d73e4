// What is looked at beside the timeline: the selected line, closely.
import { duration, grouped } from "../../local/terminal/units.ts";
import type { RunJson, TaskJson } from "../../shared/http/run-json.ts";
import { lookOfTask } from "../model/status.ts";
import type { ToolUse } from "../model/steps.ts";
import { readable, shown } from "../model/text.ts";
import type { Line, Subject } from "../model/timeline.ts";
import { Badge, CopyButton, Cost, Failure, Skeleton, Text, Time } from "./basics.tsx";
import { CallDetail } from "./call-detail.tsx";
import { Fork } from "./copies.tsx";
import { Arguments } from "./decide.tsx";
import { Raw, useEvents } from "./events.tsx";
import { Icon } from "./icon.tsx";

interface Props {
  readonly run: RunJson;
  readonly line: Line;
  readonly onClose: () => void;
}

export function Inspector({ run, line, onClose }: Props) {
  return (
    <section class="panel beside chosen" aria-label="Selected step">
      <header>
        <span class={`tone-${line.tone}`}>
          <Icon name={line.icon} />
        </span>
        <h2 class="cut grow">{line.name}</h2>
        <span class="small soft">{line.to !== null && line.from !== null ? duration(line.to - line.from) : null}</span>
        <button
          type="button"
          class="button plain icon-only small"
          aria-label="Close (Esc)"
          title="Close (Esc)"
          onClick={onClose}
        >
          <Icon name="cross" />
        </button>
      </header>
      <Detail run={run} what={line.what} />
    </section>
  );
}

/** While nothing is selected: what went in, and what came out. */
export function RunDetail({ run }: { readonly run: RunJson }) {
  return (
    <section class="panel beside" aria-label="Input and output">
      <div class="body scroll stack">
        <div class="row">
          <h2 class="grow">Input</h2>
          <CopyButton text={readable(run.input)} what="input" />
        </div>
        <Text text={readable(run.input)} prose={typeof run.input === "string"} />
        {run.output === null ? null : (
          <>
            <div class="row">
              <h2 class="grow">Output</h2>
              <CopyButton text={readable(run.output)} what="output" />
            </div>
            <Text text={readable(run.output)} prose={typeof run.output === "string"} />
          </>
        )}
        <h2>Receipt</h2>
        <Accounts of={run} />
      </div>
    </section>
  );
}

function Detail({ run, what }: { readonly run: RunJson; readonly what: Subject }) {
  switch (what.kind) {
    case "call":
      return <CallDetail run={run} stream={what.stream} step={what.step} />;
    case "tool":
      return <ToolDetail run={run} stream={what.stream} tool={what.tool} />;
    case "task":
      return <TaskDetail run={run} taskId={what.taskId} />;
    case "wave":
      return <WaveDetail run={run} wave={what.wave} />;
    case "event":
      return <EventDetail run={run} stream={what.stream} seq={what.event.seq} />;
  }
}

function ToolDetail({ run, stream, tool }: { readonly run: RunJson; readonly stream: string; readonly tool: ToolUse }) {
  const seqs = [tool.seq, ...(tool.end === null ? [] : [tool.end.seq])];
  const { value, error, refresh } = useEvents(run, stream, seqs);
  const started = value?.get(tool.seq)?.payload as Readonly<Record<string, unknown>> | undefined;
  const end =
    tool.end === null
      ? undefined
      : (value?.get(tool.end.seq)?.payload as Readonly<Record<string, unknown>> | undefined);
  return (
    <div class="body scroll stack">
      {error === null ? null : <Failure error={error} retry={refresh} />}
      {value === undefined && error === null ? <Skeleton /> : null}
      {started === undefined ? null : (
        <>
          <h3>Arguments</h3>
          <Arguments args={started.args} />
        </>
      )}
      {end === undefined ? null : (
        <>
          <h3 class={end.isError === true ? "tone-bad" : ""}>{end.isError === true ? "Error" : "Result"}</h3>
          <Text text={readable(end.result)} />
        </>
      )}
      {tool.end === null && !tool.cut ? <p class="soft">It runs.</p> : null}
      {started === undefined ? null : (
        <dl class="facts">
          <dt>Effects</dt>
          <dd>{String(started.effects)}</dd>
          <dt>Repeating it</dt>
          <dd>{started.idempotency === "keyed" ? "safe: it takes a key" : "not safe: it has no key"}</dd>
          <dt>Key</dt>
          <dd class="mono">{String(started.idempotencyKey)}</dd>
        </dl>
      )}
    </div>
  );
}

export function Accounts({ of }: { readonly of: Pick<TaskJson, "usage" | "costUsd" | "simulated" | "receipt"> }) {
  const { usage, receipt } = of;
  return (
    <dl class="facts">
      <dt>Model calls</dt>
      <dd>
        {grouped(receipt.modelCalls)}
        {receipt.unanswered > 0 ? <span class="soft">, {receipt.unanswered} more without an answer</span> : null}
      </dd>
      <dt>Tokens</dt>
      <dd>
        {grouped(usage.input + usage.cacheRead + usage.cacheWrite)} in, {grouped(usage.output)} out
        {usage.cacheRead > 0 ? <span class="soft">, {grouped(usage.cacheRead)} from the cache</span> : null}
      </dd>
      <dt>Cost</dt>
      <dd>
        <Cost usd={of.costUsd} simulated={of.simulated} />
      </dd>
      <dt>Used again</dt>
      <dd>
        {grouped(receipt.replayed)} recorded answers
        {receipt.replayed > 0 ? (
          <span class="soft">
            , saved {grouped(receipt.savedTokens)} tokens, <Cost usd={receipt.savedUsd} simulated={of.simulated} />
          </span>
        ) : null}
      </dd>
      <dt>Paid twice</dt>
      <dd class={receipt.repaid > 0 ? "tone-bad" : ""}>{grouped(receipt.repaid)}</dd>
    </dl>
  );
}

function TaskDetail({ run, taskId }: { readonly run: RunJson; readonly taskId: string }) {
  const task = run.waves.flatMap((wave) => wave.tasks).find((t) => t.taskId === taskId);
  if (task === undefined) return null;
  return (
    <div class="body scroll stack">
      <div class="row wrap">
        <Badge look={lookOfTask(task)} />
        <span class="mono small soft">{task.taskId}</span>
        {task.wakeAt === null || task.status === "ended" ? null : (
          <span class="small soft">
            looked at again <Time at={task.wakeAt} />
          </span>
        )}
      </div>
      {task.problem === null ? null : (
        <div class="note wait-note">
          <Icon name="warn" />
          <p>
            {shown(task.problem.message)} <span class="mono tiny">{task.problem.code}</span>
          </p>
        </div>
      )}
      <Accounts of={task} />
      <div class="row">
        <Fork runId={run.runId} from={task.taskId} small label="Fork from here" />
      </div>
    </div>
  );
}

function WaveDetail({ run, wave }: { readonly run: RunJson; readonly wave: number }) {
  const tasks = run.waves.find((w) => w.wave === wave)?.tasks ?? [];
  const tally = Map.groupBy(tasks, (task) => lookOfTask(task).word);
  return (
    <div class="body scroll stack">
      <ul class="row wrap">
        {[...tally].map(([word, some]) => {
          const [first] = some;
          return first === undefined ? null : (
            <li key={word} class="row">
              <Badge look={lookOfTask(first)} /> {grouped(some.length)}
            </li>
          );
        })}
      </ul>
    </div>
  );
}

function EventDetail({ run, stream, seq }: { readonly run: RunJson; readonly stream: string; readonly seq: number }) {
  return (
    <div class="body scroll">
      <Raw run={run} stream={stream} seqs={[seq]} />
    </div>
  );
}
