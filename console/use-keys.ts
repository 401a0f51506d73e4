// Keys of a page: single letters, silent while somebody types or a dialog is open. The last page to ask is served first.
import { useLayoutEffect, useRef } from "preact/hooks";

export type Keys = Readonly<Record<string, (event: KeyboardEvent) => void>>;

const layers: { current: Keys }[] = [];

const typing = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  (target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName));

addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  if (document.querySelector("dialog[open]") !== null) return;
  if (typing(event.target)) {
    if (event.key === "Escape") (event.target as HTMLElement).blur();
    return;
  }
  // Enter and space belong to what has the focus.
  const { target } = event;
  if (["Enter", " "].includes(event.key) && target instanceof HTMLElement && target.closest("a, button, summary"))
    return;
  for (const { current } of layers.toReversed()) {
    const handle = Object.hasOwn(current, event.key) ? current[event.key] : undefined;
    if (handle === undefined) continue;
    event.preventDefault();
    handle(event);
    return;
  }
});

export function useKeys(keys: Keys): void {
  const layer = useRef(keys);
  layer.current = keys;
  // As soon as the page shows what they are for.
  useLayoutEffect(() => {
    layers.push(layer);
    return () => {
      layers.splice(layers.indexOf(layer), 1);
    };
  }, []);
}

/** j and k in a list of links: which one is meant, Enter goes there. */
export function stepIn(count: number, at: number, by: 1 | -1): number {
  if (count === 0) return -1;
  if (at < 0) return by > 0 ? 0 : count - 1;
  return Math.min(count - 1, Math.max(0, at + by));
}
