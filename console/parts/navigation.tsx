// Where one can go, and what waits there.

import { useState } from "preact/hooks";
import type { RunSummary } from "../../shared/http/run-json.ts";
import { get } from "../api.ts";
import type { IconName } from "../model/icons.ts";
import { href, type Route } from "../model/route.ts";
import { signOut } from "../session.ts";
import { setTheme, theme } from "../theme.ts";
import { useQuery } from "../use-query.ts";
import { Icon } from "./icon.tsx";
import { Mark } from "./mark.tsx";

export const TITLES: Readonly<Record<string, string>> = {
  overview: "Overview",
  runs: "Runs",
  approvals: "Waits for you",
  chat: "Conversations",
  start: "Start a run",
  agents: "Agents",
};

const PLACES: readonly (readonly [string, IconName])[] = [
  ["overview", "home"],
  ["runs", "list"],
  ["approvals", "hand"],
  ["chat", "chat"],
  ["agents", "bot"],
];

const WAITING_MS = 5_000;

/** How many runs wait for somebody's decision; a number of more than a page isn't counted out. */
export function useWaiting() {
  return useQuery(
    "waiting",
    async (signal) => {
      const pages = await Promise.all(
        ["waitingApproval", "waitingCut"].map((status) =>
          get<{ runs: RunSummary[]; next: string | null }>("runs", { status, limit: 100 }, signal),
        ),
      );
      return { runs: pages.flatMap((page) => page.runs), more: pages.some((page) => page.next !== null) };
    },
    WAITING_MS,
  );
}

export function Navigation(props: { readonly route: Route; readonly open: boolean; readonly onHelp: () => void }) {
  const { route } = props;
  const waiting = useWaiting();
  const count = waiting.value?.runs.length ?? 0;
  return (
    <div id="side" class={props.open ? "side open" : "side"}>
      <a class="brand" href={href("overview")}>
        <Mark /> Toren
      </a>
      <a class="button first block start" href={href("start")}>
        <Icon name="plus" /> Start a run
      </a>
      <nav class="nav" aria-label="Pages">
        {PLACES.map(([page, icon]) => (
          <a key={page} href={href(page)} aria-current={route.page === page ? "page" : undefined}>
            <Icon name={icon} />
            {TITLES[page]}
            {page === "approvals" && count > 0 ? (
              <span class="count">
                {count}
                {waiting.value?.more ? "+" : ""}
                <span class="hidden"> waiting</span>
              </span>
            ) : null}
          </a>
        ))}
      </nav>
      <div class="side-end">
        <ThemeButton />
        <button type="button" class="button plain icon-only" aria-label="Keys" title="Keys (?)" onClick={props.onHelp}>
          <kbd>?</kbd>
        </button>
        <span class="grow" />
        <button type="button" class="button plain" onClick={() => signOut()}>
          <Icon name="out" /> Sign out
        </button>
      </div>
    </div>
  );
}

function ThemeButton() {
  const [now, setNow] = useState(theme());
  const other = now === "dark" ? "light" : "dark";
  const label = `Switch to ${other}`;
  return (
    <button
      type="button"
      class="button plain icon-only"
      aria-label={label}
      title={label}
      onClick={() => {
        setTheme(other);
        setNow(other);
      }}
    >
      <Icon name={now === "dark" ? "sun" : "moon"} />
    </button>
  );
}
