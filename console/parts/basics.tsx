// Small things that every page uses: status, time, emptiness, errors, text that stays text.
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { ago, cost as costText } from "../../local/terminal/units.ts";
import type { ApiError } from "../api.ts";
import type { IconName } from "../model/icons.ts";
import { type Look, lookOfRun } from "../model/status.ts";
import { shown } from "../model/text.ts";
import { say } from "./actions.tsx";
import { Icon } from "./icon.tsx";

export const Badge = ({ look }: { readonly look: Look }) => (
  <span class={`badge tone-${look.tone}`}>
    <Icon name={look.icon} spin={look.icon === "spinner"} />
    {look.word}
  </span>
);

export const StatusBadge = ({ status }: { readonly status: string }) => <Badge look={lookOfRun(status)} />;

const exact = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "long" });
const soon = (ms: number): string =>
  ms < 60_000 ? `in ${Math.ceil(ms / 1_000)} s` : ms < 3_600_000 ? `in ${Math.round(ms / 60_000)} min` : later(ms);
const later = (ms: number): string =>
  ms < 172_800_000 ? `in ${Math.round(ms / 3_600_000)} h` : `in ${Math.round(ms / 86_400_000)} days`;

/** How long ago, or how soon; the exact time when pointed at. */
export function Time({ at }: { readonly at: string | null }) {
  const now = useNow(10_000);
  if (at === null) return <span class="faint">never</span>;
  const ms = now - Date.parse(at);
  return (
    <time dateTime={at} title={`${exact.format(new Date(at))} (${at})`}>
      {ms < -1_000 ? soon(-ms) : ago(ms)}
    </time>
  );
}

/** The time of this machine, anew every so often; 0: it stands still. */
export function useNow(everyMs: number): number {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    if (everyMs === 0) return;
    const timer = setInterval(() => setNow(Date.now()), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return now;
}

export const Cost = ({ usd, simulated }: { readonly usd: number | null; readonly simulated: boolean }) => (
  <span title={simulated ? "Prices of rule-based and scripted models are made up." : undefined}>
    {costText(usd, simulated)}
  </span>
);

export const Empty = (props: {
  readonly icon: IconName;
  readonly title: string;
  readonly low?: boolean;
  readonly children?: ComponentChildren;
}) => (
  <div class={props.low ? "empty low" : "empty"}>
    <Icon name={props.icon} />
    <strong>{props.title}</strong>
    {props.children}
  </div>
);

export const Failure = ({ error, retry }: { readonly error: ApiError; readonly retry?: () => void }) => (
  <div class="note bad-note" role="alert">
    <Icon name="warn" />
    <div class="grow">
      {shown(error.message)} <span class="mono tiny">{error.code}</span>
    </div>
    {retry === undefined ? null : (
      <button type="button" class="button small" onClick={retry}>
        Try again
      </button>
    )}
  </div>
);

/** While nothing has come yet. */
export const Skeleton = ({ lines = 4 }: { readonly lines?: number }) => (
  <div class="stack" role="status" aria-label="Loading" style={{ padding: "20px 16px" }}>
    {Array.from({ length: lines }, (_, i) => (
      <span key={i} class="skeleton" style={{ width: `${[72, 54, 88, 40, 64][i % 5]}%` }} />
    ))}
  </div>
);

/** Text of models, tools and people, as it is; characters that would move or hide others are shown by their numbers. */
export const Text = ({ text, prose = false }: { readonly text: string; readonly prose?: boolean }) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keys
  <pre class={prose ? "text prose" : "text"} tabIndex={0}>
    {shown(text)}
  </pre>
);

export const Head = (props: {
  readonly title: ComponentChildren;
  readonly note?: ComponentChildren;
  readonly children?: ComponentChildren;
}) => (
  <header class="head">
    <div class="grow">
      <h1>{props.title}</h1>
      {props.note === undefined ? null : <p class="small">{props.note}</p>}
    </div>
    {props.children === undefined ? null : <div class="actions">{props.children}</div>}
  </header>
);

/** A page whose subject hasn't come, or can't. */
export const NotYet = (props: {
  readonly title: string;
  readonly error: ApiError | null;
  readonly retry: () => void;
}) => (
  <>
    <Head title={props.title} />
    {props.error === null ? <Skeleton lines={8} /> : <Failure error={props.error} retry={props.retry} />}
  </>
);

export const Panel = (props: {
  readonly title?: ComponentChildren;
  readonly end?: ComponentChildren;
  readonly children: ComponentChildren;
}) => (
  <section class="panel">
    {props.title === undefined ? null : (
      <header>
        <h2>{props.title}</h2>
        {props.end === undefined ? null : <div class="end">{props.end}</div>}
      </header>
    )}
    {props.children}
  </section>
);

export function CopyButton({ text, what }: { readonly text: string; readonly what: string }) {
  const [copied, setCopied] = useState(false);
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      // Browsers let a page copy over HTTPS and on the own machine alone.
      return say(`The browser doesn't let this page copy: mark the ${what} and copy it by hand.`, true);
    }
    setCopied(true);
    setTimeout(() => setCopied(false), 1_500);
  };
  return (
    <button type="button" class="button plain small" aria-label={`Copy ${what}`} title={`Copy ${what}`} onClick={copy}>
      <Icon name={copied ? "check" : "copy"} />
      {copied ? <span role="status">Copied</span> : null}
    </button>
  );
}
