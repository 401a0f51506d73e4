// Numbers as people read them.

const groups = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });

export const grouped = (n: number): string => groups.format(n);

export const counted = (n: number, one: string): string => `${grouped(n)} ${one}${n === 1 ? "" : "s"}`;

/** 999 B, then 1.2 KiB and 3.4 MiB. */
export function bytes(n: number): string {
  if (n < 1_024) return `${n} B`;
  return n < 1_024 ** 2 ? `${(n / 1_024).toFixed(1)} KiB` : `${(n / 1_024 ** 2).toFixed(1)} MiB`;
}

/** 1,234 up to ten thousand, then 12.3k and 1.2M: a column's width. */
export function tokens(n: number): string {
  if (n < 10_000) return grouped(n);
  return n < 1_000_000 ? `${(n / 1_000).toFixed(1)}k` : `${(n / 1_000_000).toFixed(1)}M`;
}

/** Cents where they are the point, more digits where a call costs less than one. */
export function usd(amount: number): string {
  if (amount === 0) return "$0";
  return `$${amount.toFixed(amount >= 100 ? 0 : amount >= 1 ? 2 : 4)}`;
}

/** A cost with what is to be said about it: prices that are made up, or not known. */
export const cost = (amount: number | null, simulated: boolean): string =>
  amount === null ? "cost unknown" : `${simulated ? "simulated " : ""}${usd(amount)}`;

export function duration(ms: number): string {
  if (ms < 1_000) return `${Math.max(0, Math.round(ms))} ms`;
  const s = ms / 1_000;
  if (s < 60) return `${s.toFixed(1)} s`;
  const minutes = Math.floor(s / 60);
  if (minutes < 60) return `${minutes} min ${Math.floor(s % 60)} s`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} days`;
}

/** A duration that still grows: whole seconds, so that only they move. */
export const clock = (ms: number): string => (ms < 60_000 ? `${Math.max(0, Math.floor(ms / 1_000))} s` : duration(ms));

/** How long ago, in one word and a half. */
export function ago(ms: number): string {
  const s = Math.max(0, Math.floor(ms / 1_000));
  if (s < 60) return `${s} s ago`;
  if (s < 3_600) return `${Math.floor(s / 60)} min ago`;
  return s < 172_800 ? `${Math.floor(s / 3_600)} h ago` : `${Math.floor(s / 86_400)} days ago`;
}

/** A run's id as it is shown: enough of it to be unique among a person's runs, and accepted by every command. */
export const shortId = (runId: string): string => runId.slice(0, 8);
