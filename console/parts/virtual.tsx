// A list of thousands of lines of one height: only those in sight are in the document.
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

interface Props {
  readonly count: number;
  readonly height: number;
  readonly label: string;
  /** Kept in sight; -1: none. */
  readonly at: number;
  /** The id of its element, for who is read the page to. */
  readonly active: string | undefined;
  readonly render: (index: number, top: number) => ComponentChildren;
}

const BEYOND = 12;

export function VirtualTree({ count, height, label, at, active, render }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: 600 });
  useEffect(() => {
    const element = box.current;
    if (element === null) return;
    const look = (): void => setView({ top: element.scrollTop, height: element.clientHeight });
    const sized = new ResizeObserver(look);
    sized.observe(element);
    element.addEventListener("scroll", look, { passive: true });
    return () => {
      sized.disconnect();
      element.removeEventListener("scroll", look);
    };
  }, []);
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null || at < 0) return;
    const top = at * height;
    if (top < element.scrollTop) element.scrollTop = top;
    else if (top + height > element.scrollTop + element.clientHeight)
      element.scrollTop = top + height - element.clientHeight;
  }, [at, height]);
  const first = Math.max(0, Math.floor(view.top / height) - BEYOND);
  const last = Math.min(count, Math.ceil((view.top + view.height) / height) + BEYOND);
  return (
    <div ref={box} class="rows" role="tree" aria-label={label} tabIndex={0} aria-activedescendant={active}>
      <div class="space" role="presentation" style={{ height: `${count * height}px` }}>
        {Array.from({ length: Math.max(0, last - first) }, (_, i) => render(first + i, (first + i) * height))}
      </div>
    </div>
  );
}
