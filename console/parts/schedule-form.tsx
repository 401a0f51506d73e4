// What a schedule is made of, as a form: for a new one in a dialog, for one that is there below its row.
import { useState } from "preact/hooks";
import type { AgentJson } from "../../shared/http/agents.ts";
import type { ScheduleJson } from "../../shared/http/schedules.ts";
import { useDoing } from "./actions.tsx";
import { Line, Pick } from "./fields.tsx";

export interface Draft {
  readonly name: string;
  readonly agent: string;
  readonly process: string;
  readonly input: string;
  readonly cron: string;
  readonly zone: string;
  readonly catchUp: string;
}

const CATCH_UP = [
  ["last", "the last one"],
  ["none", "none of them"],
  ["all", "all of them"],
] as const;
const HERE = Intl.DateTimeFormat().resolvedOptions().timeZone;

export const newDraft = (agents: readonly AgentJson[]): Draft => ({
  name: "",
  agent: agents[0]?.name ?? "",
  process: "main",
  input: "",
  cron: "0 9 * * 1-5",
  zone: HERE,
  catchUp: "last",
});

/** An input that is no text is written as JSON, and read as such again. */
export const draftOf = (s: ScheduleJson): Draft => ({
  ...s,
  input: typeof s.input === "string" ? s.input : JSON.stringify(s.input),
});

/** Of a schedule whose input was JSON; a text stays one, whatever it looks like. @throws SyntaxError */
export const inputOf = (draft: Draft, before: ScheduleJson): unknown =>
  typeof before.input === "string" ? draft.input : JSON.parse(draft.input);

interface FormProps {
  readonly first: Draft;
  /** To choose from. Left out: the schedule is there, and its agent stays. */
  readonly agents?: readonly AgentJson[];
  /** Of an agent that stays. */
  readonly processes?: readonly string[];
  readonly done: string;
  readonly onSave: (draft: Draft) => Promise<void>;
  readonly onClose: () => void;
}

export function ScheduleForm({ first, agents = [], processes: kept, done, onSave, onClose }: FormProps) {
  const [draft, setDraft] = useState<Draft>(first);
  const [doing, run] = useDoing();
  const processes = kept ?? agents.find((agent) => agent.name === draft.agent)?.processes ?? ["main"];
  const process = processes.includes(draft.process) ? draft.process : (processes[0] ?? draft.process);
  const set = (name: keyof Draft) => (value: string) => setDraft({ ...draft, [name]: value });
  const submit = (event: Event): void => {
    event.preventDefault();
    void run(() => onSave({ ...draft, process }));
  };
  return (
    <form class="bare-form stack" onSubmit={submit}>
      <Line label="Name" value={draft.name} onValue={set("name")} />
      {agents.length === 0 ? null : (
        <Pick label="Agent" value={draft.agent} options={agents.map((a) => [a.name, a.name])} onValue={set("agent")} />
      )}
      {processes.length > 1 ? (
        <Pick label="Process" value={process} options={processes.map((p) => [p, p])} onValue={set("process")} />
      ) : null}
      <Line label="Input" value={draft.input} onValue={set("input")} />
      <div class="pair">
        <Line label="Cron: minute, hour, day, month, weekday" mono value={draft.cron} onValue={set("cron")} />
        <Line label="Time zone" value={draft.zone} onValue={set("zone")} />
      </div>
      <Pick
        label="Of times that were missed, start"
        value={draft.catchUp}
        options={CATCH_UP}
        onValue={set("catchUp")}
      />
      <div class="row end">
        <button type="button" class="button" onClick={onClose}>
          Not now
        </button>
        <button
          type="submit"
          class="button first"
          disabled={doing || draft.name.trim() === "" || draft.cron.trim() === ""}
        >
          {done}
        </button>
      </div>
    </form>
  );
}
