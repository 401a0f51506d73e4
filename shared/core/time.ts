// Lengths of time as people write them in agent.yaml.

const UNITS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Milliseconds of `90s`, `15m`, `24h`, `7d`; null for any other text, and for nothing or less. */
export function durationMs(text: string): number | null {
  const match = /^(\d{1,6})(s|m|h|d)$/.exec(text.trim());
  const ms = Number(match?.[1]) * (UNITS[match?.[2] ?? ""] ?? Number.NaN);
  return Number.isFinite(ms) && ms > 0 ? ms : null;
}
