// Copies of a run: a fork, which goes its own way from some place on; an export, which is everything on record of it as lines of JSON.
import { useState } from "preact/hooks";
import { ApiError, once, open, post } from "../api.ts";
import { go } from "../use-route.ts";
import { Action, Dialog, say, useDoing } from "./actions.tsx";

interface ForkProps {
  readonly runId: string;
  /** `w1`, `w1t2`, `w1t2/s3`; null: from where it stands. */
  readonly from: string | null;
  readonly small?: boolean;
  readonly label: string;
}

/** What a fork would do again is named by the server, and asked about. */
export function Fork({ runId, from, small = false, label }: ForkProps) {
  const [repeats, setRepeats] = useState<string | null>(null);
  const [, run] = useDoing();
  const fork = async (rerun: boolean): Promise<void> => {
    const body = { ...(from === null ? {} : { from }), ...(rerun ? { rerun } : {}) };
    try {
      const made = await post<{ runId: string }>(`runs/${runId}/fork`, body, once());
      say("The fork is started: what both have is on record already, and isn't paid again.");
      go("runs", made.runId);
    } catch (e) {
      if (!(e instanceof ApiError) || e.code !== "fork.repeats") throw e;
      setRepeats(e.message);
    }
  };
  return (
    <>
      <Action icon="fork" small={small} onDo={() => fork(false)}>
        {label}
      </Action>
      {repeats === null ? null : (
        <Dialog title="It would do something again" onClose={() => setRepeats(null)}>
          <p class="soft">{repeats}</p>
          <div class="row end">
            <button type="button" class="button" onClick={() => setRepeats(null)}>
              Not now
            </button>
            <button
              type="button"
              class="button danger"
              onClick={() => {
                setRepeats(null);
                void run(() => fork(true));
              }}
            >
              Do it again
            </button>
          </div>
        </Dialog>
      )}
    </>
  );
}

/** A page at a time; each ends with a line that says where the next one begins. */
async function exported(runId: string): Promise<Blob> {
  const parts: string[] = [];
  let after: string | null = "";
  while (after !== null) {
    const page = await exportedPage(runId, after);
    parts.push(page.lines);
    after = page.next;
  }
  return new Blob(parts, { type: "application/jsonl" });
}

async function exportedPage(runId: string, after: string): Promise<{ lines: string; next: string | null }> {
  const query = after === "" ? "" : `?${new URLSearchParams({ after })}`;
  const text = (await (await open(`runs/${runId}/export${query}`)).text()).trimEnd();
  const last = text.lastIndexOf("\n") + 1;
  const { next } = JSON.parse(text.slice(last)) as { readonly next: string | null };
  return { lines: text.slice(0, last), next };
}

export const Export = ({ runId }: { readonly runId: string }) => (
  <Action
    icon="down"
    onDo={async () => {
      const url = URL.createObjectURL(await exported(runId));
      const link = document.createElement("a");
      link.href = url;
      link.download = `${runId}.jsonl`;
      link.click();
      URL.revokeObjectURL(url);
    }}
  >
    Export
  </Action>
);
