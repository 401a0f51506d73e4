// Events of the log, whole: read when somebody looks at them.
import type { Page, PageEvent } from "../../shared/http/events-page.ts";
import type { RunJson } from "../../shared/http/run-json.ts";
import { get } from "../api.ts";
import { readable } from "../model/text.ts";
import { useQuery } from "../use-query.ts";
import { Failure, Skeleton, Text, Time } from "./basics.tsx";

/** Some events of a stream, whole, by their seqs. */
export function useEvents(run: RunJson, stream: string, seqs: readonly number[]) {
  const wanted = [...new Set(seqs)].sort((a, b) => a - b);
  return useQuery(`${run.runId} ${stream} ${wanted.join()}`, (signal) =>
    Promise.all(
      wanted.map(async (seq): Promise<PageEvent | undefined> => {
        const query = { stream, after: seq - 1, full: "1", limit: 1 };
        const page = await get<Page>(`runs/${run.runId}/events`, query, signal);
        return page.events.find((event) => event.seq === seq);
      }),
    ).then((events) => new Map(events.flatMap((event) => (event === undefined ? [] : [[event.seq, event]])))),
  );
}

export function Raw({
  run,
  stream,
  seqs,
}: {
  readonly run: RunJson;
  readonly stream: string;
  readonly seqs: readonly number[];
}) {
  const { value, error, refresh } = useEvents(run, stream, seqs);
  if (value === undefined) return error === null ? <Skeleton /> : <Failure error={error} retry={refresh} />;
  return (
    <div class="stack">
      {[...value.values()].map((event) => (
        <div key={event.seq} class="stack tight">
          <p class="row wrap small soft">
            <strong>{event.type}</strong> <span class="mono">{event.stream}</span> event {event.seq},{" "}
            <Time at={event.recordedAt} />
          </p>
          <Text text={readable(event.payload)} />
        </div>
      ))}
    </div>
  );
}
