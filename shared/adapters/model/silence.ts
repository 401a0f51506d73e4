// How long a provider may say nothing before it is given up.

export interface Silence {
  /** Aborts when the silence was too long, or when the outer signal does. */
  readonly controller: AbortController;
  readonly signal: AbortSignal;
  /** Something came. */
  broken(): void;
  /** It was too long. */
  isOver(): boolean;
  end(): void;
}

export function createSilence(outer: AbortSignal, ms: number): Silence {
  const controller = new AbortController();
  let over = false;
  const timer = setTimeout(() => {
    over = true;
    controller.abort();
  }, ms);
  timer.unref(); // a connection that is waited for keeps a worker alive, not its clock
  const stop = (): void => controller.abort();
  if (outer.aborted) stop();
  else outer.addEventListener("abort", stop, { once: true });
  return {
    controller,
    signal: controller.signal,
    broken: () => void timer.refresh(),
    isOver: () => over,
    end: () => {
      clearTimeout(timer);
      outer.removeEventListener("abort", stop);
    },
  };
}
