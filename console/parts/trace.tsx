// A run's timeline: lines with bars, and beside them the one that is selected.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { duration } from "../../local/terminal/units.ts";
import type { RunJson } from "../../shared/http/run-json.ts";
import type { Outlined } from "../model/steps.ts";
import { barOf, type Line, timelineOf } from "../model/timeline.ts";
import { readOutline } from "../outlines.ts";
import { stepIn, useKeys } from "../use-keys.ts";
import { useQuery } from "../use-query.ts";
import { Failure, useNow } from "./basics.tsx";
import { Icon } from "./icon.tsx";
import { Inspector, RunDetail } from "./inspector.tsx";
import { VirtualTree } from "./virtual.tsx";

const LINE_HEIGHT = 32;
/** Up to so many tasks everything is open from the start. */
const OPEN_TASKS = 8;

interface Outlines {
  readonly own: readonly Outlined[];
  readonly tasks: ReadonlyMap<string, readonly Outlined[]>;
}

const tasksOf = (run: RunJson) => run.waves.flatMap((wave) => wave.tasks);

/** Streams that may have grown are read again whenever the run was. */
function useOutlines(run: RunJson, open: readonly string[], beat: number) {
  const read = useQuery(`${run.runId} ${open.join()}`, async (signal): Promise<Outlines> => {
    const [own, ...logs] = await Promise.all([
      readOutline(run.runId, "run", signal),
      ...open.map((taskId) => readOutline(run.runId, `task:${taskId}`, signal)),
    ]);
    return { own, tasks: new Map(open.map((taskId, i) => [taskId, logs[i] ?? []])) };
  });
  const seen = useRef(beat);
  useEffect(() => {
    if (beat !== seen.current) read.refresh();
    seen.current = beat;
  }, [beat]);
  return read;
}

export function Trace({ run, beat }: { readonly run: RunJson; readonly beat: number }) {
  const tasks = tasksOf(run);
  const few = tasks.length <= OPEN_TASKS;
  const [turned, setTurned] = useState<ReadonlySet<string>>(new Set());
  const [at, setAt] = useState<string | null>(null);
  const isOpen = (id: string): boolean =>
    turned.has(id) !== (few || (id.startsWith("wave:") && run.waves.length <= OPEN_TASKS && tasks.length <= 200));
  const open = tasks.flatMap((task) => (isOpen(`task:${task.taskId}`) ? [task.taskId] : []));
  const read = useOutlines(run, open, beat);
  const last = useRef<Outlines>({ own: [], tasks: new Map() });
  last.current = read.value ?? last.current;
  const outlines = last.current;
  const lines = useMemo(
    () => timelineOf({ run, own: outlines.own, tasks: outlines.tasks, isOpen }),
    [run, outlines, turned],
  );
  const turn = (id: string): void =>
    setTurned(new Set(turned.has(id) ? [...turned].filter((t) => t !== id) : [...turned, id]));
  const index = lines.findIndex((line) => line.id === at);
  const line = lines[index];
  useTraceKeys(lines, index, setAt, turn);
  return (
    <div class="trace">
      <section class="panel" aria-label="Timeline">
        {read.error === null ? null : <Failure error={read.error} retry={read.refresh} />}
        <Timeline run={run} lines={lines} index={index} onSelect={setAt} onTurn={turn} />
      </section>
      {line === undefined ? (
        <RunDetail run={run} />
      ) : (
        <Inspector key={line.id} run={run} line={line} onClose={() => setAt(null)} />
      )}
    </div>
  );
}

function useTraceKeys(
  lines: readonly Line[],
  index: number,
  select: (id: string | null) => void,
  turn: (id: string) => void,
): void {
  const move = (by: 1 | -1) => (): void => select(lines[stepIn(lines.length, index, by)]?.id ?? null);
  const fold = (open: boolean) => (): void => {
    const line = lines[index];
    if (line?.open === !open) turn(line.id);
  };
  useKeys({
    j: move(1),
    k: move(-1),
    ArrowDown: move(1),
    ArrowUp: move(-1),
    ArrowRight: fold(true),
    ArrowLeft: fold(false),
    Enter: () => {
      const line = lines[index];
      if (line !== undefined && line.open !== null) turn(line.id);
    },
    Escape: () => select(null),
  });
}

interface TimelineProps {
  readonly run: RunJson;
  readonly lines: readonly Line[];
  readonly index: number;
  readonly onSelect: (id: string) => void;
  readonly onTurn: (id: string) => void;
}

function Timeline({ run, lines, index, onSelect, onTurn }: TimelineProps) {
  const now = useNow(run.endedAt === null ? 1_000 : 0);
  const from = Date.parse(run.createdAt);
  const to = Math.max(from + 1, run.endedAt === null ? now : Date.parse(run.endedAt));
  return (
    <>
      <div class="scale" aria-hidden="true">
        <span>Timeline</span>
        <span class="ticks">
          <span>0</span>
          <span>{duration((to - from) / 2)}</span>
          <span>{duration(to - from)}</span>
        </span>
        <span class="right">took</span>
      </div>
      <VirtualTree
        count={lines.length}
        height={LINE_HEIGHT}
        label="Timeline of the run"
        at={index}
        active={index < 0 ? undefined : `line-${index}`}
        render={(i, top) => {
          const line = lines[i];
          if (line === undefined) return null;
          return (
            <TraceLine
              key={line.id}
              line={line}
              index={i}
              top={top}
              selected={i === index}
              bar={barOf(line, from, to, now)}
              now={now}
              onSelect={onSelect}
              onTurn={onTurn}
            />
          );
        }}
      />
    </>
  );
}

interface LineProps {
  readonly line: Line;
  readonly index: number;
  readonly top: number;
  readonly selected: boolean;
  readonly bar: { readonly left: number; readonly width: number } | null;
  readonly now: number;
  readonly onSelect: (id: string) => void;
  readonly onTurn: (id: string) => void;
}

function TraceLine({ line, index, top, selected, bar, now, onSelect, onTurn }: LineProps) {
  const isMark = line.what.kind === "event";
  const took = line.from === null ? "" : duration((line.to ?? now) - line.from);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the tree has keys of its own (j, k, Enter)
    <div
      id={`line-${index}`}
      role="treeitem"
      tabIndex={-1}
      aria-level={line.depth + 1}
      aria-selected={selected}
      aria-expanded={line.open ?? undefined}
      class={`line ${line.cut ? "was-cut" : ""} ${isMark ? "mark" : ""}`}
      style={{ top: `${top}px`, "--depth": line.depth }}
      onClick={() => onSelect(line.id)}
    >
      <span class="what">
        {line.open === null ? (
          <span class="fold" />
        ) : (
          // biome-ignore lint/a11y/useKeyWithClickEvents: → and ← do it
          // biome-ignore lint/a11y/noStaticElementInteractions: the line says whether it is open
          <span
            class={line.open ? "fold open" : "fold"}
            onClick={(e) => {
              e.stopPropagation();
              onTurn(line.id);
            }}
          >
            <Icon name="chevron" />
          </span>
        )}
        <span class={`tone-${line.tone}`}>
          <Icon name={line.icon} spin={line.icon === "spinner"} />
        </span>
        <span class="name">{line.name}</span>
        <span class="more cut">{line.more}</span>
        {line.cut ? <span class="hidden">(cut)</span> : null}
      </span>
      <span class={`track tone-${line.tone}`} aria-hidden="true">
        {bar === null ? null : (
          <i class={line.depth > 0 ? "thin" : ""} style={{ left: `${bar.left}%`, width: `${bar.width}%` }} />
        )}
      </span>
      <span class="took">{took}</span>
    </div>
  );
}
