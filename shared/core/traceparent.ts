// W3C Trace Context (https://www.w3.org/TR/trace-context/) as it stands in a header, a queue's message and a run's row. What the ids mean is a tracer's business.

/** A place in a trace. */
export interface TraceParent {
  /** 32 hexadecimal digits, not all zero. */
  readonly traceId: string;
  /** 16 hexadecimal digits, not all zero. */
  readonly spanId: string;
  /** Bit 0: whoever began the trace records it. */
  readonly flags: number;
}

const FORM = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const ZEROS = /^0+$/;
/** Later versions may have more to say at the end; a header longer than this is nobody's traceparent. */
const MAX_CHARS = 512;

/** Null for what isn't one: it is left out, as the specification asks, never an error. */
export function parseTraceparent(text: string | null | undefined): TraceParent | null {
  if (text === null || text === undefined || text.length > MAX_CHARS) return null;
  const [, version, traceId, spanId, flags, more] = FORM.exec(text) ?? [];
  if (version === undefined || traceId === undefined || spanId === undefined || flags === undefined) return null;
  if (version === "ff" || (version === "00" && more !== undefined)) return null;
  if (ZEROS.test(traceId) || ZEROS.test(spanId)) return null;
  return { traceId, spanId, flags: Number.parseInt(flags, 16) };
}

/** Version 00, whose one known flag is the lowest. */
export const formatTraceparent = ({ traceId, spanId, flags }: TraceParent): string =>
  `00-${traceId}-${spanId}-0${flags & 1}`;
