// Data of the server in a component: read when it appears, again every so often while somebody looks, and again when asked. What was read stays shown meanwhile.
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { ApiError } from "./api.ts";

export interface Loaded<T> {
  /** Undefined until the first answer. */
  readonly value: T | undefined;
  /** Of the last try; null: it went well. */
  readonly error: ApiError | null;
  /** Reads again now; what is being read, once more after that. */
  refresh(): void;
}

/** A server that is busy is asked less often: it never works for this page for more than a fifth of its time. */
const PATIENCE = 4;
const RETRY_MS = 3_000;

/** `key` names what is read: another one begins anew. `everyMs` 0: it is read once; a failure that may pass is tried again all the same. */
export function useQuery<T>(key: string, load: (signal: AbortSignal) => Promise<T>, everyMs = 0): Loaded<T> {
  const [state, setState] = useState<{ key: string; value: T | undefined; error: ApiError | null }>({
    key,
    value: undefined,
    error: null,
  });
  const loader = useRef(load);
  loader.current = load;
  const again = useRef(() => {});
  useEffect(() => {
    const over = new AbortController();
    let timer = 0;
    let reading = false;
    let wanted = false;
    const round = async (): Promise<void> => {
      clearTimeout(timer);
      wanted = false;
      reading = true;
      const began = performance.now();
      let next = everyMs;
      try {
        const value = await loader.current(over.signal);
        if (!over.signal.aborted) setState({ key, value, error: null });
      } catch (e) {
        if (over.signal.aborted) return;
        const error = errorOf(e);
        setState((before) => ({ key, value: before.key === key ? before.value : undefined, error }));
        if (everyMs > 0 || mayPass(error)) next = Math.max(RETRY_MS, everyMs);
      }
      reading = false;
      if (over.signal.aborted) return;
      if (wanted) void round();
      else if (next > 0) timer = window.setTimeout(whenSeen, Math.max(next, PATIENCE * (performance.now() - began)));
    };
    const whenSeen = (): void => {
      if (document.visibilityState === "visible") again.current();
      else document.addEventListener("visibilitychange", whenSeen, { once: true, signal: over.signal });
    };
    // Never by breaking a reading off: of a run that grows all the time none would come to its end.
    again.current = () => {
      if (reading) wanted = true;
      else void round();
    };
    void round();
    return () => {
      over.abort();
      clearTimeout(timer);
    };
  }, [key, everyMs]);
  const refresh = useCallback(() => again.current(), []);
  return { value: state.key === key ? state.value : undefined, error: state.key === key ? state.error : null, refresh };
}

/** Nobody answered, or somebody who was busy: what is read once is tried again too, as the page says. */
const mayPass = ({ status, code, retryable }: ApiError): boolean =>
  code === "server.unreachable" || status >= 500 || retryable;

export const errorOf = (e: unknown): ApiError =>
  e instanceof ApiError ? e : new ApiError(0, { code: "bug", detail: e instanceof Error ? e.message : String(e) });
