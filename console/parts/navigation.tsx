// Where one can go, and what waits there.

import { useState } from "preact/hooks";
import type { IconName } from "../model/icons.ts";
import { href, type Route } from "../model/route.ts";
import { signOut } from "../session.ts";
import { setTheme, theme } from "../theme.ts";
import { useOverview, waitingRuns } from "../use-overview.ts";
import { Icon } from "./icon.tsx";
import { Mark } from "./mark.tsx";

export const TITLES: Readonly<Record<string, string>> = {
  overview: "Overview",
  runs: "Runs",
  approvals: "Waits for you",
  chat: "Conversations",
  start: "Start a run",
  schedules: "Schedules",
  "dead-letters": "Dead letters",
  agents: "Agents",
  keys: "Keys",
};

const PLACES: readonly (readonly [string, IconName])[] = [
  ["overview", "home"],
  ["runs", "list"],
  ["approvals", "hand"],
  ["chat", "chat"],
  ["schedules", "calendar"],
  ["dead-letters", "letter"],
  ["agents", "bot"],
  ["keys", "key"],
];

export function Navigation(props: { readonly route: Route; readonly open: boolean; readonly onHelp: () => void }) {
  const { route } = props;
  const overview = useOverview().value;
  const count = overview === undefined ? 0 : waitingRuns(overview);
  return (
    <aside id="side" class={props.open ? "side open" : "side"} aria-label="Navigation">
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
    </aside>
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
