// Schedules: runs that start by a clock. Made, changed, paused and removed here; what each did last, and when it comes next.
import { Fragment } from "preact";
import { useState } from "preact/hooks";
import { shortId } from "../../local/terminal/units.ts";
import type { AgentJson } from "../../shared/http/agents.ts";
import type { ScheduleJson, ScheduleWithTimesJson } from "../../shared/http/schedules.ts";
import { get, patch, post, remove } from "../api.ts";
import { href } from "../model/route.ts";
import { shown } from "../model/text.ts";
import { ActedTable } from "../parts/acted-table.tsx";
import { Action, Dialog, say } from "../parts/actions.tsx";
import { Empty, Head, Time } from "../parts/basics.tsx";
import { Icon } from "../parts/icon.tsx";
import { Loaded, LoadedPanel } from "../parts/loaded.tsx";
import { type Draft, draftOf, inputOf, newDraft, ScheduleForm } from "../parts/schedule-form.tsx";
import { useAgents } from "../use-agents.ts";
import { useQuery } from "../use-query.ts";

const LIVE_MS = 5_000;
/** Times shown of a schedule that is looked at. */
const TIMES = 5;

export function SchedulesPage() {
  const schedules = useQuery(
    "schedules",
    async (signal) => (await get<{ schedules: ScheduleJson[] }>("schedules", {}, signal)).schedules,
    LIVE_MS,
  );
  const agents = useAgents().value ?? [];
  const [making, setMaking] = useState(false);
  const none = (
    <Empty icon="calendar" title="No schedule yet">
      <p>A schedule starts a run of an agent at times that a cron expression says, in a time zone of yours.</p>
    </Empty>
  );
  return (
    <>
      <Head title="Schedules" note="Runs that start by a clock, each time exactly once.">
        <button type="button" class="button first" disabled={agents.length === 0} onClick={() => setMaking(true)}>
          <Icon name="plus" /> New schedule
        </button>
      </Head>
      <div class="stack">
        <LoadedPanel of={schedules} empty={{ when: (all) => all.length === 0, show: none }}>
          {(all, refresh) => <SchedulesTable schedules={all} agents={agents} refresh={refresh} />}
        </LoadedPanel>
      </div>
      {making ? (
        <NewSchedule
          agents={agents}
          onClose={() => {
            setMaking(false);
            schedules.refresh();
          }}
        />
      ) : null}
    </>
  );
}

interface TableProps {
  readonly schedules: readonly ScheduleJson[];
  readonly agents: readonly AgentJson[];
  readonly refresh: () => void;
}

function SchedulesTable({ schedules, agents, refresh }: TableProps) {
  const [open, setOpen] = useState<string | null>(null);
  return (
    <ActedTable heads={[["Schedule"], ["When", "wide-only"], ["Next"], ["Last", "wide-only"]]}>
      {schedules.map((schedule) => (
        <Fragment key={schedule.id}>
          <ScheduleRow
            schedule={schedule}
            open={schedule.id === open}
            onOpen={() => setOpen(schedule.id === open ? null : schedule.id)}
            refresh={refresh}
          />
          {schedule.id === open ? (
            <tr class="below">
              <td colSpan={5}>
                <EditSchedule
                  schedule={schedule}
                  processes={agents.find((agent) => agent.name === schedule.agent)?.processes ?? []}
                  onClose={() => setOpen(null)}
                  refresh={refresh}
                />
              </td>
            </tr>
          ) : null}
        </Fragment>
      ))}
    </ActedTable>
  );
}

interface RowProps {
  readonly schedule: ScheduleJson;
  readonly open: boolean;
  readonly onOpen: () => void;
  readonly refresh: () => void;
}

function ScheduleRow({ schedule: s, open, onOpen, refresh }: RowProps) {
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
      <td>
        <div class="row wrap end tight">
          <button type="button" class="button small" aria-expanded={open} onClick={onOpen}>
            <Icon name="pencil" /> Edit
          </button>
          {s.enabled ? (
            <Action small icon="stop" onDo={() => post(`${path}/pause`).then(done(`${s.name} is paused.`))}>
              Pause
            </Action>
          ) : (
            <Action small icon="play" onDo={() => post(`${path}/resume`).then(done(`${s.name} goes on.`))}>
              Resume
            </Action>
          )}
          <Action
            small
            kind="danger"
            ask={`"${s.name}" starts no more runs. Those that it started stay.`}
            onDo={() => remove(path).then(done(`${s.name} is removed.`))}
          >
            Remove
          </Action>
        </div>
      </td>
    </tr>
  );
}

function NewSchedule({ agents, onClose }: { readonly agents: readonly AgentJson[]; readonly onClose: () => void }) {
  const save = async (draft: Draft): Promise<void> => {
    await post("schedules", draft);
    say(`${draft.name} is made.`);
    onClose();
  };
  return (
    <Dialog title="New schedule" onClose={onClose}>
      <ScheduleForm first={newDraft(agents)} agents={agents} done="Make it" onSave={save} onClose={onClose} />
    </Dialog>
  );
}

interface EditProps {
  readonly schedule: ScheduleJson;
  readonly processes: readonly string[];
  readonly onClose: () => void;
  readonly refresh: () => void;
}

/** Below its row: what it is, to be changed, and when it fires as it stands. */
function EditSchedule({ schedule, processes, onClose, refresh }: EditProps) {
  const path = `schedules/${schedule.id}`;
  // Anew with every change: the times belong to what is saved.
  const times = useQuery(`${path} ${schedule.cron} ${schedule.zone}`, (signal) =>
    get<ScheduleWithTimesJson>(path, { next: TIMES }, signal),
  );
  const save = async (draft: Draft): Promise<void> => {
    const { name, process, cron, zone, catchUp } = draft;
    await patch(path, { name, process, cron, zone, catchUp, input: inputOf(draft, schedule) });
    say(`${name} is changed.`);
    refresh();
  };
  return (
    <div class="edit">
      <ScheduleForm first={draftOf(schedule)} processes={processes} done="Save" onSave={save} onClose={onClose} />
      <section aria-label="Next times">
        <h2 class="small soft">{schedule.enabled ? "Fires next" : "Paused; it would fire next"}</h2>
        <Loaded of={times}>
          {({ next, zone }) => (
            <ol class="times">
              {next.map((at) => (
                <li key={at}>
                  {localTime(at, zone)}{" "}
                  <span class="faint">
                    <Time at={at} />
                  </span>
                </li>
              ))}
            </ol>
          )}
        </Loaded>
      </section>
    </div>
  );
}

/** By the clock on the wall there. */
const localTime = (at: string, zone: string): string =>
  new Intl.DateTimeFormat(undefined, {
    timeZone: zone,
    weekday: "short",
    day: "numeric",
    month: "short",
    hour: "2-digit",
    minute: "2-digit",
    hourCycle: "h23",
    timeZoneName: "short",
  }).format(new Date(at));
