// Signals that a workflow waits for: somebody who knows what it waits for can send it from here.
import { useMemo, useState } from "preact/hooks";
import type { RunJson } from "../../shared/http/run-json.ts";
import { once, post } from "../api.ts";
import { shown } from "../model/text.ts";
import { Action, say } from "./actions.tsx";
import { Time } from "./basics.tsx";
import { Icon } from "./icon.tsx";

export const Signals = ({ run, onSent }: { readonly run: RunJson; readonly onSent: () => void }) =>
  run.signals.length === 0 ? null : (
    <section class="panel" aria-label="Signals it waits for">
      {/* Of this very wait: the workflow may wait for the same signal again. */}
      {run.signals.map((awaited) => (
        <SignalCard key={`${awaited.signal} ${awaited.since}`} runId={run.runId} awaited={awaited} onSent={onSent} />
      ))}
    </section>
  );

interface CardProps {
  readonly runId: string;
  readonly awaited: RunJson["signals"][number];
  readonly onSent: () => void;
}

function SignalCard({ runId, awaited, onSent }: CardProps) {
  const [value, setValue] = useState("");
  const key = useMemo(once, [value]); // another value is another signal
  const send = async (): Promise<void> => {
    await post(`runs/${runId}/signals`, { signal: awaited.signal, value: signalValue(value) }, key);
    say(`${awaited.signal} is sent.`);
    onSent();
  };
  return (
    <div class="decision">
      <div class="row wrap">
        <Icon name="letter" />
        <span>
          Waits for the signal <strong class="mono">{shown(awaited.signal)}</strong>
        </span>
        <span class="soft small">
          since <Time at={awaited.since} />
          {awaited.dueAt === null ? null : (
            <>
              , gives up <Time at={awaited.dueAt} />
            </>
          )}
        </span>
      </div>
      <div class="row">
        <input
          class="input mono"
          aria-label={`Value of ${awaited.signal}`}
          placeholder="Its value: JSON, or a text"
          value={value}
          onInput={(e) => setValue(e.currentTarget.value)}
        />
        <Action icon="letter" onDo={send}>
          Send
        </Action>
      </div>
    </div>
  );
}

/** JSON where it is that, else a text; nothing is null. */
function signalValue(text: string): unknown {
  if (text.trim() === "") return null;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
