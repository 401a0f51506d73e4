// What a query brought: why it failed, that it is under way, that there is nothing, or what there is.
import type { ComponentChildren } from "preact";
import type { Loaded as Query } from "../use-query.ts";
import { Failure, Panel, Skeleton } from "./basics.tsx";

interface Props<T> {
  readonly of: Query<T>;
  /** What is shown where there is nothing; left out: nothing is like that. */
  readonly empty?: { readonly when: (value: T) => boolean; readonly show: ComponentChildren };
  readonly lines?: number;
  readonly children: (value: T, refresh: () => void) => ComponentChildren;
}

/** What was read before a failure stays shown below it. */
export function Loaded<T>({ of: { value, error, refresh }, empty, lines = 4, children }: Props<T>) {
  return (
    <>
      {error === null ? null : <Failure error={error} retry={refresh} />}
      {value === undefined ? (
        error === null ? (
          <Skeleton lines={lines} />
        ) : null
      ) : empty?.when(value) ? (
        empty.show
      ) : (
        children(value, refresh)
      )}
    </>
  );
}

/** The same in a panel, with the failure above it. */
export function LoadedPanel<T>({ of: { value, error, refresh }, ...rest }: Props<T>) {
  return (
    <>
      {error === null ? null : <Failure error={error} retry={refresh} />}
      {value === undefined && error !== null ? null : (
        <Panel>
          <Loaded of={{ value, error: null, refresh }} {...rest} />
        </Panel>
      )}
    </>
  );
}
