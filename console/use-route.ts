import { useEffect, useState } from "preact/hooks";
import { href, parseRoute, type Route } from "./model/route.ts";

export function useRoute(): Route {
  const [route, setRoute] = useState(() => parseRoute(location.hash));
  useEffect(() => {
    const onChange = (): void => setRoute(parseRoute(location.hash));
    addEventListener("hashchange", onChange);
    return () => removeEventListener("hashchange", onChange);
  }, []);
  return route;
}

export const go = (...to: Parameters<typeof href>): void => {
  location.hash = href(...to);
};

/** Another query of the same place, without an entry in the history. */
export function replaceQuery(route: Route, query: Readonly<Record<string, string | null>>): void {
  history.replaceState(null, "", href(route.page, route.id, { ...route.query, ...query }));
  dispatchEvent(new HashChangeEvent("hashchange"));
}
