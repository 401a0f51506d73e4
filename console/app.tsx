// The frame: who is signed in, where to go, and the page that the address names.
import { useEffect, useLayoutEffect, useState } from "preact/hooks";
import { href, type Route } from "./model/route.ts";
import { AgentsPage } from "./pages/agents.tsx";
import { ApprovalsPage } from "./pages/approvals.tsx";
import { ChatPage } from "./pages/chat.tsx";
import { DeadLettersPage } from "./pages/dead-letters.tsx";
import { KeysPage } from "./pages/keys.tsx";
import { Overview } from "./pages/overview.tsx";
import { RunPage } from "./pages/run.tsx";
import { RunsPage } from "./pages/runs.tsx";
import { SchedulesPage } from "./pages/schedules.tsx";
import { SignIn } from "./pages/sign-in.tsx";
import { StartPage } from "./pages/start.tsx";
import { Toasts } from "./parts/actions.tsx";
import { Head } from "./parts/basics.tsx";
import { Help } from "./parts/help.tsx";
import { Icon } from "./parts/icon.tsx";
import { Mark } from "./parts/mark.tsx";
import { Navigation, TITLES } from "./parts/navigation.tsx";
import { key, onSession } from "./session.ts";
import { useKeys } from "./use-keys.ts";
import { OverviewContext, useOverviewQuery } from "./use-overview.ts";
import { go, useRoute } from "./use-route.ts";

export function App() {
  const [signedIn, setSignedIn] = useState(key());
  useLayoutEffect(() => onSession(() => setSignedIn(key())), []);
  return (
    <>
      {signedIn === null ? <SignIn /> : <Frame key={signedIn} />}
      <Toasts />
    </>
  );
}

function Frame() {
  const route = useRoute();
  const overview = useOverviewQuery();
  const [help, setHelp] = useState(false);
  const [menu, setMenu] = useState(false);
  useEffect(() => {
    setMenu(false);
    document.title = `${route.id === null ? "" : `${route.id.slice(0, 8)} · `}${TITLES[route.page] ?? "Not found"} · Toren`;
    scrollTo(0, 0);
  }, [route.page, route.id]);
  useKeys({
    "?": () => setHelp(true),
    "/": () => (document.querySelector<HTMLElement>("[data-search]") ?? { focus: () => go("runs") }).focus(),
    o: () => go("overview"),
    r: () => go("runs"),
    a: () => go("approvals"),
    c: () => go("chat"),
    n: () => go("start"),
  });
  return (
    <OverviewContext.Provider value={overview}>
      <div class="frame">
        <button type="button" class="skip" onClick={() => document.getElementById("main")?.focus()}>
          To the content
        </button>
        <header class="topbar">
          <a class="brand" href={href("overview")}>
            <Mark /> Toren
          </a>
          <span class="grow" />
          <button
            type="button"
            class="button plain"
            aria-expanded={menu}
            aria-controls="side"
            onClick={() => setMenu(!menu)}
          >
            <Icon name={menu ? "cross" : "menu"} /> Menu
          </button>
        </header>
        <Navigation route={route} open={menu} onHelp={() => setHelp(true)} />
        <main id="main" class="main" tabIndex={-1}>
          <div>
            <Content route={route} />
          </div>
        </main>
        {help ? <Help onClose={() => setHelp(false)} /> : null}
      </div>
    </OverviewContext.Provider>
  );
}

function Content({ route }: { readonly route: Route }) {
  const { page, id } = route;
  if (page === "overview") return <Overview />;
  if (page === "runs") return id === null ? <RunsPage route={route} /> : <RunPage key={id} runId={id} />;
  if (page === "approvals") return <ApprovalsPage />;
  if (page === "chat") return <ChatPage runId={id} />;
  if (page === "start") return <StartPage route={route} />;
  if (page === "schedules") return <SchedulesPage />;
  if (page === "dead-letters") return <DeadLettersPage />;
  if (page === "agents") return <AgentsPage />;
  if (page === "keys") return <KeysPage />;
  return (
    <>
      <Head title="There is no such page" />
      <a class="link" href={href("overview")}>
        To the overview
      </a>
    </>
  );
}
