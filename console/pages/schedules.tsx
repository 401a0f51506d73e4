// Schedules: runs that start by a clock. Made, paused and removed here; what each did last, and when it comes next.
import { useState } from "preact/hooks";
import { shortId } from "../../local/terminal/units.ts";
import type { ScheduleJson } from "../../shared/http/schedules.ts";
import { get, post, remove } from "../api.ts";
import { href } from "../model/route.ts";
import { shown } from "../model/text.ts";
import { Action, Dialog, say, useDoing } from "../parts/actions.tsx";
import { Empty, Failure, Head, Panel, Skeleton, Time } from "../parts/basics.tsx";
import { Icon } from "../parts/icon.tsx";
import { type AgentJson, useAgents } from "../use-agents.ts";
import { useQuery } from "../use-query.ts";

const LIVE_MS = 5_000;

export function SchedulesPage() {
  const { value, error, refresh } = useQuery(
    "schedules",
    async (signal) => (await get<{ schedules: ScheduleJson[] }>("schedules", {}, signal)).schedules,
    LIVE_MS,
  );
  const agents = useAgents().value ?? [];
  const [making, setMaking] = useState(false);
  return (
    <>
      <Head title="Schedules" note="Runs that start by a clock, each time exactly once.">
        <button type="button" class="button first" disabled={agents.length === 0} onClick={() => setMaking(true)}>
          <Icon name="plus" /> New schedule
        </button>
      </Head>
      {error === null ? null : <Failure error={error} retry={refresh} />}
      <Panel>
        {value === undefined && error === null ? <Skeleton /> : null}
        {value?.length === 0 ? (
          <Empty icon="calendar" title="No schedule yet">
            <p>A schedule starts a run of an agent at times that a cron expression says, in a time zone of yours.</p>
          </Empty>
        ) : null}
        {value === undefined || value.length === 0 ? null : <SchedulesTable schedules={value} refresh={refresh} />}
      </Panel>
      {making ? (
        <NewSchedule
          agents={agents}
          onClose={() => {
            setMaking(false);
            refresh();
          }}
        />
      ) : null}
    </>
  );
}

interface TableProps {
  readonly schedules: readonly ScheduleJson[];
  readonly refresh: () => void;
}

const SchedulesTable = ({ schedules, refresh }: TableProps) => (
  <div class="scroll-x">
    <table class="table">
      <thead>
        <tr>
          <th>Schedule</th>
          <th class="wide-only">When</th>
          <th>Next</th>
          <th class="wide-only">Last</th>
          <th class="right">
            <span class="hidden">Actions</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {schedules.map((schedule) => (
          <ScheduleRow key={schedule.id} schedule={schedule} refresh={refresh} />
        ))}
      </tbody>
    </table>
  </div>
);

function ScheduleRow({ schedule: s, refresh }: { readonly schedule: ScheduleJson; readonly refresh: () => void }) {
  const path = `schedules/${s.id}`;
  const done = (text: string) => (): void => {
    say(text);
    refresh();
  };
  return (
    <tr>
      <td>
        <strong>{shown(s.name)}</strong>
        <div class="small soft">
          {s.agent}
          {s.process === "main" ? "" : ` ${s.process}`}
        </div>
        {s.problem === null ? null : (
          <div class="row small tone-bad">
            <Icon name="warn" /> {shown(s.problem)}
          </div>
        )}
      </td>
      <td class="wide-only">
        <span class="mono small">{s.cron}</span>
        <div class="tiny faint">{s.zone}</div>
      </td>
      <td class="small nowrap">
        {s.nextAt !== null ? (
          <Time at={s.nextAt} />
        ) : (
          <span class="badge word tone-none">{s.enabled ? "never again" : "paused"}</span>
        )}
      </td>
      <td class="small soft nowrap wide-only">
        {s.last === null ? (
          "never"
        ) : (
          <>
            <Time at={s.last.at} />{" "}
            <a class="link mono tiny" href={href("runs", s.last.runId)}>
              {shortId(s.last.runId)}
            </a>
          </>
        )}
      </td>
      <td class="right nowrap">
        {s.enabled ? (
          <Action small icon="stop" onDo={() => post(`${path}/pause`).then(done(`${s.name} is paused.`))}>
            Pause
          </Action>
        ) : (
          <Action small icon="play" onDo={() => post(`${path}/resume`).then(done(`${s.name} goes on.`))}>
            Resume
          </Action>
        )}{" "}
        <Action
          small
          kind="danger"
          ask={`"${s.name}" starts no more runs. Those that it started stay.`}
          onDo={() => remove(path).then(done(`${s.name} is removed.`))}
        >
          Remove
        </Action>
      </td>
    </tr>
  );
}

const CATCH_UP = [
  ["last", "the last one"],
  ["none", "none of them"],
  ["all", "all of them"],
] as const;
const HERE = Intl.DateTimeFormat().resolvedOptions().timeZone;

interface Draft {
  readonly name: string;
  readonly agent: string;
  readonly process: string;
  readonly input: string;
  readonly cron: string;
  readonly zone: string;
  readonly catchUp: string;
}

function NewSchedule({ agents, onClose }: { readonly agents: readonly AgentJson[]; readonly onClose: () => void }) {
  const [draft, setDraft] = useState<Draft>({
    name: "",
    agent: agents[0]?.name ?? "",
    process: "main",
    input: "",
    cron: "0 9 * * 1-5",
    zone: HERE,
    catchUp: "last",
  });
  const [doing, run] = useDoing();
  const processes = agents.find((agent) => agent.name === draft.agent)?.processes ?? ["main"];
  const set = (name: keyof Draft) => (value: string) => setDraft({ ...draft, [name]: value });
  const submit = (event: Event): void => {
    event.preventDefault();
    void run(async () => {
      const process = processes.includes(draft.process) ? draft.process : (processes[0] ?? "main");
      await post("schedules", { ...draft, process });
      say(`${draft.name} is made.`);
      onClose();
    });
  };
  return (
    <Dialog title="New schedule" onClose={onClose}>
      <form class="bare-form stack" onSubmit={submit}>
        <Line label="Name" value={draft.name} onValue={set("name")} />
        <Pick label="Agent" value={draft.agent} options={agents.map((a) => [a.name, a.name])} onValue={set("agent")} />
        {processes.length > 1 ? (
          <Pick label="Process" value={draft.process} options={processes.map((p) => [p, p])} onValue={set("process")} />
        ) : null}
        <Line label="Input" value={draft.input} onValue={set("input")} />
        <Line label="Cron: minute, hour, day, month, weekday" mono value={draft.cron} onValue={set("cron")} />
        <Line label="Time zone" value={draft.zone} onValue={set("zone")} />
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
            Make it
          </button>
        </div>
      </form>
    </Dialog>
  );
}

interface LineProps {
  readonly label: string;
  readonly value: string;
  readonly mono?: boolean;
  readonly onValue: (value: string) => void;
}

const Line = ({ label, value, mono = false, onValue }: LineProps) => (
  <label class="field">
    <span class="label">{label}</span>
    <input class={mono ? "input mono" : "input"} value={value} onInput={(e) => onValue(e.currentTarget.value)} />
  </label>
);

interface PickProps extends LineProps {
  readonly options: readonly (readonly [string, string])[];
}

const Pick = ({ label, value, options, onValue }: PickProps) => (
  <label class="field">
    <span class="label">{label}</span>
    <select class="input" value={value} onChange={(e) => onValue(e.currentTarget.value)}>
      {options.map(([name, words]) => (
        <option key={name} value={name}>
          {words}
        </option>
      ))}
    </select>
  </label>
);
