// A question to a model, closely: its answer, the request as it went out, what changed from the one before.
import { useState } from "preact/hooks";
import { counted, grouped } from "../../local/terminal/units.ts";
import type { PageEvent } from "../../shared/http/events-page.ts";
import type { RunJson } from "../../shared/http/run-json.ts";
import type { Step } from "../model/steps.ts";
import { shown } from "../model/text.ts";
import { useLive } from "../use-live.ts";
import { Cost, Failure, Skeleton, Text, Time } from "./basics.tsx";
import { Fork } from "./copies.tsx";
import { Arguments } from "./decide.tsx";
import { Raw, useEvents } from "./events.tsx";
import { Icon } from "./icon.tsx";
import { RequestView } from "./request.tsx";

type CallTab = "answer" | "changes" | "request" | "raw";
const CALL_TABS: readonly (readonly [CallTab, string])[] = [
  ["answer", "Answer"],
  ["request", "Request"],
  ["changes", "Changes"],
  ["raw", "Event"],
];

export function CallDetail({
  run,
  stream,
  step,
}: {
  readonly run: RunJson;
  readonly stream: string;
  readonly step: Step;
}) {
  const [tab, setTab] = useState<CallTab>("answer");
  return (
    <>
      <div class="tabs" role="tablist" aria-label="The call">
        {CALL_TABS.map(([name, label]) => (
          <button
            key={name}
            type="button"
            role="tab"
            id={`tab-${name}`}
            aria-controls="tab-panel"
            aria-selected={tab === name}
            onClick={() => setTab(name)}
          >
            {label}
          </button>
        ))}
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keys */}
      <div class="body scroll" role="tabpanel" id="tab-panel" aria-labelledby={`tab-${tab}`} tabIndex={0}>
        {tab === "answer" ? <Answer run={run} stream={stream} step={step} /> : null}
        {tab === "request" || tab === "changes" ? (
          <RequestView runId={run.runId} stream={stream} seq={step.seq} view={tab} />
        ) : null}
        {tab === "raw" ? (
          <Raw run={run} stream={stream} seqs={[step.seq, ...(step.end === null ? [] : [step.end.seq])]} />
        ) : null}
      </div>
    </>
  );
}

interface Usage {
  readonly input: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  readonly output: number;
  readonly reasoning: number;
}

function Answer({ run, stream, step }: { readonly run: RunJson; readonly stream: string; readonly step: Step }) {
  const { value, error, refresh } = useEvents(run, stream, step.end === null ? [] : [step.end.seq]);
  const end = step.end === null ? undefined : value?.get(step.end.seq);
  const goesOn = step.end === null && !step.lost && !step.cut && run.endedAt === null;
  const saying = useLive({ runId: run.runId, stream, after: step.seq - 1, on: goesOn, onRecorded: () => {} });
  return (
    <div class="stack">
      <CallNotes step={step} />
      {goesOn && saying.text !== "" ? <Text text={saying.text} prose /> : null}
      {error === null ? null : <Failure error={error} retry={refresh} />}
      {step.end !== null && end === undefined && error === null ? <Skeleton /> : null}
      {end === undefined ? null : <Content event={end} />}
      <CallFacts step={step} />
      {step.cut || step.purpose === "summary" ? null : (
        <div class="row">
          <Fork
            runId={run.runId}
            from={`${stream.replace(/^task:/, "")}/${step.stepId}`}
            small
            label="Fork from here"
          />
        </div>
      )}
    </div>
  );
}

function CallNotes({ step }: { readonly step: Step }) {
  return (
    <>
      {step.cut ? (
        <div class="note wait-note">
          <Icon name="scissors" />
          <p>An edit cut this step: its answer is on record, and isn't part of the task any more.</p>
        </div>
      ) : null}
      {step.replayed > 0 && !step.cut ? (
        <p class="row small tone-replay">
          <Icon name="replay" /> Used again {counted(step.replayed, "time")} by workers that took over, and paid once.
        </p>
      ) : null}
      {step.lost && step.end === null ? (
        <p class="row small tone-bad">
          <Icon name="warn" /> It was sent, and no answer was recorded: its worker died. The provider may have charged
          for it.
        </p>
      ) : null}
      {step.end === null && !step.lost && !step.cut ? <p class="soft">Under way.</p> : null}
    </>
  );
}

type Part = Readonly<Record<string, unknown>>;

function Content({ event }: { readonly event: PageEvent }) {
  const payload = event.payload as Readonly<Record<string, unknown>>;
  if (event.type === "LlmCallFailed") {
    const failed = payload.error as { readonly code: string; readonly message: string };
    return <Text text={`${failed.code}: ${failed.message}`} />;
  }
  const { content = [], stopReason } = (payload.response ?? {}) as { content?: readonly Part[]; stopReason?: string };
  return (
    <div class="stack">
      {content.map((part, i) => (
        <AnswerPart key={i} part={part} />
      ))}
      {content.length === 0 ? <p class="soft">The model said nothing.</p> : null}
      {stopReason === "maxTokens" || stopReason === "refusal" ? (
        <p class="row small tone-wait">
          <Icon name="warn" /> {stopReason === "refusal" ? "The model refused." : "It was cut at its token limit."}
        </p>
      ) : null}
    </div>
  );
}

function AnswerPart({ part }: { readonly part: Part }) {
  if (part.type === "text") return <Text text={String(part.text)} prose />;
  if (part.type === "opaque")
    return <p class="small faint">Reasoning of {String(part.provider)}, kept as it was given.</p>;
  return (
    <div class="stack tight">
      <p class="row small">
        <Icon name="tool" /> <span class="soft">calls</span> <strong class="mono">{shown(String(part.name))}</strong>
      </p>
      <Arguments args={part.args} />
    </div>
  );
}

function CallFacts({ step }: { readonly step: Step }) {
  const usage = step.end?.payload.usage as Usage | undefined;
  const cost = step.end?.payload.cost as { readonly usd: number; readonly simulated: boolean } | undefined;
  return (
    <dl class="facts">
      <dt>Model</dt>
      <dd class="mono">{shown(step.model)}</dd>
      <dt>Asked</dt>
      <dd>
        <Time at={step.asked.recordedAt} />
      </dd>
      {usage === undefined ? null : (
        <>
          <dt>Tokens in</dt>
          <dd>
            {grouped(usage.input + usage.cacheRead + usage.cacheWrite)}
            <span class="soft">
              {usage.cacheRead > 0 ? `, ${grouped(usage.cacheRead)} from the cache` : ""}
              {usage.cacheWrite > 0 ? `, ${grouped(usage.cacheWrite)} into it` : ""}
            </span>
          </dd>
          <dt>Tokens out</dt>
          <dd>
            {grouped(usage.output)}
            <span class="soft">{usage.reasoning > 0 ? `, ${grouped(usage.reasoning)} of them reasoning` : ""}</span>
          </dd>
          <dt>Cost</dt>
          <dd>
            <Cost usd={cost?.usd ?? null} simulated={cost?.simulated ?? false} />
          </dd>
        </>
      )}
    </dl>
  );
}
