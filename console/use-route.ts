import { useLayoutEffect, useState } from "preact/hooks";
import { href, parseRoute, type Route } from "./model/route.ts";

export function useRoute(): Route {
  const [route, setRoute] = useState(() => parseRoute(location.hash));
  // Before anything else happens: an effect comes after the next paint, and whoever goes elsewhere until then would not be heard.
  useLayoutEffect(() => {
    const onChange = (): void => setRoute(parseRoute(location.hash));
    addEventListener("hashchange", onChange);
    return () => removeEventListener("hashchange", onChange);
  }, []);
  return route;
}

export const go = (...to: Parameters<typeof href>): void => {
  location.hash = href(...to);
};

/** Changes the query of the same place, without an entry in the history. Somebody who has gone elsewhere meanwhile (what they typed is acted on late) stays there. */
export function replaceQuery(route: Route, query: Readonly<Record<string, string | null>>): void {
  const here = parseRoute(location.hash);
  if (here.page !== route.page || here.id !== route.id) return;
  history.replaceState(null, "", href(route.page, route.id, { ...here.query, ...query }));
  dispatchEvent(new HashChangeEvent("hashchange"));
}
