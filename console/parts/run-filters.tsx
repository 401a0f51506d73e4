// What narrows the list of runs: words, agent, status, time. The address holds it all, so that a list can be sent to somebody.
import { useEffect, useRef, useState } from "preact/hooks";
import { href, type Route } from "../model/route.ts";
import { lookOfRun, RUN_STATUSES } from "../model/status.ts";
import { useAgents } from "../use-agents.ts";
import { replaceQuery } from "../use-route.ts";
import { Icon } from "./icon.tsx";

const SINCE: readonly (readonly [string, string, number])[] = [
  ["1h", "Last hour", 3_600_000],
  ["24h", "Last day", 86_400_000],
  ["7d", "Last week", 604_800_000],
  ["30d", "Last month", 2_592_000_000],
];
export const sinceTime = (name: string): string => {
  const ms = SINCE.find(([known]) => known === name)?.[2];
  return ms === undefined ? "" : new Date(Date.now() - ms).toISOString();
};

const NARROWING = ["agent", "status", "since", "text", "cursor"];
export const isNarrowed = ({ query }: Route): boolean => NARROWING.some((name) => (query[name] ?? "") !== "");

export function Filters({ route }: { readonly route: Route }) {
  const agents = useAgents().value ?? [];
  const set = (name: string) => (event: { currentTarget: HTMLSelectElement }) =>
    replaceQuery(route, { [name]: event.currentTarget.value, cursor: null });
  const pick = (name: string, label: string, any: string, options: readonly (readonly [string, string])[]) => (
    <select class="input short" aria-label={label} value={route.query[name] ?? ""} onChange={set(name)}>
      <option value="">{any}</option>
      {options.map(([value, text]) => (
        <option key={value} value={value}>
          {text}
        </option>
      ))}
    </select>
  );
  return (
    <div class="filters">
      <Search route={route} />
      {pick(
        "agent",
        "Agent",
        "All agents",
        agents.map(({ name }) => [name, name] as const),
      )}
      {pick(
        "status",
        "Status",
        "Any status",
        RUN_STATUSES.map((name) => [name, lookOfRun(name).word] as const),
      )}
      {pick(
        "since",
        "Started",
        "Any time",
        SINCE.map(([name, word]) => [name, word] as const),
      )}
      {isNarrowed(route) ? (
        <a class="button plain" href={href("runs")}>
          Show all
        </a>
      ) : null}
    </div>
  );
}

const TYPING_MS = 250;

/** Looks while one types; the address follows. */
function Search({ route }: { readonly route: Route }) {
  const asked = route.query.text ?? "";
  const [text, setText] = useState(asked);
  /** What was typed here, as far as the address has it: when that comes back, somebody may have typed on. */
  const sent = useRef(asked);
  useEffect(() => {
    if (asked === sent.current) return;
    sent.current = asked;
    setText(asked);
  }, [asked]);
  useEffect(() => {
    const words = text.trim();
    if (words === sent.current) return;
    const timer = setTimeout(() => {
      sent.current = words;
      replaceQuery(route, { text: words, cursor: null });
    }, TYPING_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return (
    <div class="search">
      <Icon name="search" />
      <input
        class="input"
        type="search"
        aria-label="Search"
        placeholder="Words of the input, or an id"
        data-search
        maxLength={200}
        value={text}
        onInput={(e) => setText(e.currentTarget.value)}
      />
      <span class="slash">/</span>
    </div>
  );
}
