// Doing something: a button that waits for its answer, a question before what can't be taken back, a word afterwards.
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { IconName } from "../model/icons.ts";
import { errorOf } from "../use-query.ts";
import { Icon } from "./icon.tsx";

interface Toast {
  readonly id: number;
  readonly text: string;
  readonly bad: boolean;
}
type Listener = (toasts: readonly Toast[]) => void;
let toasts: readonly Toast[] = [];
let listener: Listener = () => {};
let last = 0;
const SHOWN_MS = { good: 4_000, bad: 12_000 };

export function say(text: string, bad = false): void {
  const toast = { id: ++last, text, bad };
  toasts = [...toasts.slice(-2), toast];
  listener(toasts);
  setTimeout(() => drop(toast.id), bad ? SHOWN_MS.bad : SHOWN_MS.good);
}
function drop(id: number): void {
  toasts = toasts.filter((toast) => toast.id !== id);
  listener(toasts);
}

export function Toasts() {
  const [now, setNow] = useState(toasts);
  useLayoutEffect(() => {
    listener = setNow;
    return () => {
      listener = () => {};
    };
  }, []);
  return (
    <div class="toasts" role="status" aria-live="polite">
      {now.map((toast) => (
        <div key={toast.id} class={toast.bad ? "note bad-note" : "note"}>
          <Icon name={toast.bad ? "warn" : "check"} />
          <div class="grow">{toast.text}</div>
          <button type="button" class="bare" aria-label="Dismiss" onClick={() => drop(toast.id)}>
            <Icon name="cross" />
          </button>
        </div>
      ))}
    </div>
  );
}

/** Runs something once at a time; a failure is said. */
export function useDoing(): readonly [boolean, (work: () => Promise<void>) => Promise<void>] {
  const [doing, setDoing] = useState(false);
  const busy = useRef(false);
  const run = async (work: () => Promise<void>): Promise<void> => {
    if (busy.current) return;
    busy.current = true;
    setDoing(true);
    try {
      await work();
    } catch (e) {
      say(errorOf(e).message, true);
    } finally {
      busy.current = false;
      setDoing(false);
    }
  };
  return [doing, run];
}

export interface ActionProps {
  readonly icon?: IconName;
  readonly children: ComponentChildren;
  readonly kind?: "first" | "danger" | "plain" | "";
  readonly small?: boolean;
  readonly disabled?: boolean;
  /** Asked before: what would happen. */
  readonly ask?: string;
  readonly onDo: () => Promise<void>;
}

export function Action({ icon, children, kind = "", small = false, disabled = false, ask, onDo }: ActionProps) {
  const [doing, run] = useDoing();
  const [asking, setAsking] = useState(false);
  return (
    <>
      <button
        type="button"
        class={`button ${kind} ${small ? "small" : ""}`}
        disabled={disabled || doing}
        onClick={() => (ask === undefined ? void run(onDo) : setAsking(true))}
      >
        {icon === undefined ? null : <Icon name={doing ? "spinner" : icon} spin={doing} />}
        {children}
      </button>
      {asking && ask !== undefined ? (
        <Dialog title={children} onClose={() => setAsking(false)}>
          <p class="soft">{ask}</p>
          <div class="row end">
            <button type="button" class="button" onClick={() => setAsking(false)}>
              Not now
            </button>
            <button
              type="button"
              class={`button ${kind === "danger" ? "danger" : "first"}`}
              onClick={() => {
                setAsking(false);
                void run(onDo);
              }}
            >
              {children}
            </button>
          </div>
        </Dialog>
      ) : null}
    </>
  );
}

export function Dialog(props: {
  readonly title: ComponentChildren;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}) {
  const ref = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    ref.current?.showModal();
  }, []);
  return (
    <dialog ref={ref} aria-labelledby="dialog-title" onClose={props.onClose}>
      <div class="inner">
        <h2 id="dialog-title">{props.title}</h2>
        {props.children}
      </div>
    </dialog>
  );
}
