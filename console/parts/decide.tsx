// What waits for a person: a call to allow or deny, an edit that would repeat an effect.
import { useState } from "preact/hooks";
import { counted } from "../../local/terminal/units.ts";
import type { ApprovalJson, CutJson, RunJson } from "../../shared/http/run-json.ts";
import { post } from "../api.ts";
import { href } from "../model/route.ts";
import { readable, shown } from "../model/text.ts";
import { Action, say } from "./actions.tsx";
import { Cost, Time } from "./basics.tsx";
import { Icon } from "./icon.tsx";

/** Arguments a line each, where they have names. */
export function Arguments({ args }: { readonly args: unknown }) {
  if (typeof args !== "object" || args === null || Array.isArray(args))
    return <pre class="text">{shown(readable(args))}</pre>;
  const entries = Object.entries(args);
  if (entries.length === 0) return <p class="soft small">No arguments.</p>;
  return (
    <dl class="args">
      {entries.map(([name, value]) => (
        <>
          <dt>{shown(name)}</dt>
          <dd>{shown(readable(value))}</dd>
        </>
      ))}
    </dl>
  );
}

export function ApprovalCard(props: {
  readonly runId: string;
  readonly approval: Omit<ApprovalJson, "decided">;
  /** The arguments are too large to come along: they are shown with the run. */
  readonly omitted?: boolean;
  readonly onDecided: () => void;
}) {
  const { approval, runId, omitted = false, onDecided } = props;
  const [comment, setComment] = useState("");
  const decide = (granted: boolean) => async (): Promise<void> => {
    await post(`runs/${runId}/approvals`, { granted, call: approval.key, comment });
    say(granted ? `${approval.tool} may run.` : `${approval.tool} won't run; the model reads why.`);
    onDecided();
  };
  const again = approval.reason === "unknownOutcome";
  return (
    <div class="decision">
      <div class="row wrap">
        <Icon name="hand" />
        <strong class="mono">{shown(approval.tool)}</strong>
        <span class="soft small">
          asked <Time at={approval.requestedAt} />
          {approval.expiresAt === null ? null : (
            <>
              , denied <Time at={approval.expiresAt} /> if nobody decides
            </>
          )}
        </span>
      </div>
      {again ? (
        <div class="note wait-note">
          <Icon name="warn" />
          <p>
            This call was running when its worker died, so it may have taken effect. To approve is to run it again; to
            deny leaves open what it did.
          </p>
        </div>
      ) : null}
      {omitted ? (
        <p class="small soft">
          Its arguments are long.{" "}
          <a class="link" href={href("runs", runId)}>
            Read them in the run
          </a>{" "}
          before you decide.
        </p>
      ) : (
        <Arguments args={approval.args} />
      )}
      <input
        class="input"
        aria-label="Comment"
        placeholder="Comment (the model reads it if you deny)"
        maxLength={4_000}
        value={comment}
        onInput={(e) => setComment(e.currentTarget.value)}
      />
      <div class="row">
        <Action kind="first" icon="check" onDo={decide(true)}>
          {again ? "Run it again" : "Approve"}
        </Action>
        <Action kind="danger" icon="cross" onDo={decide(false)}>
          Deny
        </Action>
      </div>
    </div>
  );
}

export function CutCard({
  runId,
  cut,
  onDecided,
}: {
  readonly runId: string;
  readonly cut: CutJson;
  readonly onDecided: () => void;
}) {
  const decide = (decision: "rerun" | "keep") => async (): Promise<void> => {
    await post(`runs/${runId}/resume`, { decision });
    say(decision === "rerun" ? "It is done again." : "It goes on from what is recorded.");
    onDecided();
  };
  const { instead, price } = cut;
  const canKeep = instead === null || instead.standing > 0;
  return (
    <div class="decision">
      <div class="row wrap">
        <Icon name="scissors" />
        <strong>An edit would repeat what has effects outside</strong>
        <span class="soft small">
          <Time at={cut.requestedAt} />
        </span>
      </div>
      <dl class="facts">
        <dt>Edited</dt>
        <dd>{shown(cut.reason)}</dd>
        <dt>Where</dt>
        <dd class="mono">{cut.stream}</dd>
        <dt>Would be done again</dt>
        <dd>{cut.calls.length === 0 ? "nothing that is named" : shown(cut.calls.join(", "))}</dd>
        <dt>Would be paid again</dt>
        <dd>
          {counted(price.modelCalls, "model answer")}, <Cost usd={price.costUsd} simulated={price.simulated} />
        </dd>
        {instead === null ? null : (
          <>
            <dt>Keep would use</dt>
            <dd>
              {counted(instead.standing, "recorded task")}
              {instead.stands.map((stand) => (
                <div key={stand.task} class="small soft">
                  <span class="mono">{stand.task}</span>: {shown(stand.was)} → {shown(stand.now)}
                </div>
              ))}
            </dd>
            <dt>New all the same</dt>
            <dd>{instead.anew === 0 ? "nothing" : shown(instead.fresh.join(", "))}</dd>
          </>
        )}
      </dl>
      <div class="row wrap">
        <Action kind="first" icon="check" disabled={!canKeep} onDo={decide("keep")}>
          Keep what is recorded
        </Action>
        <Action
          kind="danger"
          icon="retry"
          ask={`The calls are made again, and ${counted(price.modelCalls, "model answer")} may be paid again.`}
          onDo={decide("rerun")}
        >
          Run it again
        </Action>
        <span class="small soft">Or take the edit back, and resume the run.</span>
      </div>
    </div>
  );
}

export const Waiting = ({ run, onDecided }: { readonly run: RunJson; readonly onDecided: () => void }) => {
  const open = run.approvals.filter((approval) => approval.decided === null);
  if (open.length + run.cuts.length === 0) return null;
  return (
    <section class="panel" aria-label="Waits for you">
      {open.map((approval) => (
        <ApprovalCard key={approval.key} runId={run.runId} approval={approval} onDecided={onDecided} />
      ))}
      {run.cuts.map((cut) => (
        <CutCard key={cut.stream} runId={run.runId} cut={cut} onDecided={onDecided} />
      ))}
    </section>
  );
};
