// What to look at first: read once for all that show a part of it, the navigation's count among them.
import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { OverviewJson } from "../shared/http/overview.ts";
import { get } from "./api.ts";
import { type Loaded, useQuery } from "./use-query.ts";

const LIVE_MS = 4_000;

export const useOverviewQuery = (): Loaded<OverviewJson> =>
  useQuery("overview", (signal) => get<OverviewJson>("overview", {}, signal), LIVE_MS);

export const OverviewContext = createContext<Loaded<OverviewJson>>({
  value: undefined,
  error: null,
  refresh: () => {},
});
export const useOverview = (): Loaded<OverviewJson> => useContext(OverviewContext);

/** Runs in which somebody has to decide something. */
export const waitingRuns = ({ runs }: OverviewJson): number => runs.waitingApproval + runs.waitingCut;
