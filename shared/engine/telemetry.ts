// The one door to OpenTelemetry. Its API does nothing until whoever runs the process registers an SDK: only then are spans made, and what they would say
// worked out. What they do say stands in spans.ts: ids, names, numbers and codes; never a prompt, an answer, an argument or a result.
import {
  type Context,
  context,
  createContextKey,
  diag,
  type Link,
  ProxyTracerProvider,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from "@opentelemetry/api";
import { SPANS_FLUSH_MAX_MS } from "../core/limits.ts";
import { formatTraceparent, parseTraceparent } from "../core/traceparent.ts";

export type SpanName = "toren.run" | "toren.tick" | "toren.task" | "toren.llm" | "toren.tool";
/** Undefined ones are left out. */
export type Attributes = Readonly<Record<string, string | number | boolean | string[] | undefined>>;

/** What a worker is at, for all that it calls meanwhile. */
export interface Work {
  readonly agent: string;
  readonly runId: string;
  readonly taskId: string | null;
  /** What its message came with. */
  readonly cameWith: string | undefined;
}

export interface SpanPlan {
  readonly name: SpanName;
  readonly attributes: Attributes;
  /** A traceparent; null: it begins a trace. Left out: what is active here. */
  readonly parent?: string | null | undefined;
  /** Traceparents. */
  readonly links?: readonly string[];
  readonly work?: Work;
}

/** How it ended. `error`: a code, of which there are few. `forget`: nothing was done after all, the span is dropped. */
export interface SpanEnd {
  readonly attributes?: Attributes;
  readonly error?: string | undefined;
  readonly forget?: boolean;
}

const SCOPE = "toren";
const WORK = createContextKey("toren work");
const KINDS: Readonly<Record<SpanName, SpanKind>> = {
  "toren.run": SpanKind.PRODUCER,
  "toren.tick": SpanKind.CONSUMER,
  "toren.task": SpanKind.CONSUMER,
  "toren.llm": SpanKind.CLIENT,
  "toren.tool": SpanKind.INTERNAL,
};

/** Null: nobody listens. Asked each time: an SDK may be registered, or shut down, at any moment. */
function listener(): Tracer | null {
  const provider = trace.getTracerProvider();
  if (provider instanceof ProxyTracerProvider) return provider.getDelegateTracer(SCOPE) ?? null;
  return provider.getTracer(SCOPE);
}

export const isTraced = (): boolean => listener() !== null;

/**
 * Does the work within a span: what it calls finds the span active, and its promise's end is the span's. `plan` and `ended` are only called where somebody
 * listens. `work` gets the span's traceparent, or null. What it throws is thrown on, and noted by `thrownAs`' code.
 */
export async function inSpan<T>(
  plan: () => SpanPlan,
  work: (traceparent: string | null) => Promise<T>,
  ended: (result: T) => SpanEnd,
  thrownAs: (thrown: unknown) => string,
): Promise<T> {
  const tracer = listener();
  const begun = tracer === null ? null : quietly(() => begin(tracer, plan()));
  if (begun === null) return await work(null);
  const { span, within } = begun;
  try {
    const result = await context.with(within, () => work(traceparentOf(span)));
    quietly(() => finish(span, ended(result)));
    return result;
  } catch (thrown) {
    quietly(() => finish(span, { error: thrownAs(thrown) }));
    throw thrown;
  }
}

/** Work without a span of its own: what it does stands where the span would have. */
export async function beneath<T>(traceparent: string | null, work: Work, act: () => Promise<T>): Promise<T> {
  return await context.with(remote(traceparent).setValue(WORK, work), act);
}

/** In nobody's trace: what is done for all, and only happens to be called by somebody's work. */
export const outsideTraces = <T>(act: () => T): T => (listener() === null ? act() : context.with(ROOT_CONTEXT, act));

function begin(
  tracer: Tracer,
  { name, attributes, parent, links = [], work }: SpanPlan,
): { span: Span; within: Context } {
  // A worker's span never hangs on what happens to be active where its message was picked up: on a laptop that is whoever sent it.
  const above = parent === undefined ? context.active() : remote(parent);
  const span = tracer.startSpan(name, { kind: KINDS[name], attributes, links: links.flatMap(linkTo) }, above);
  const own = trace.setSpan(above, span);
  return { span, within: work === undefined ? own : own.setValue(WORK, work) };
}

function finish(span: Span, { attributes = {}, error, forget = false }: SpanEnd): void {
  if (forget) return; // one that never ends is never exported
  span.setAttributes(attributes);
  if (error !== undefined) {
    span.setAttribute("error.type", error);
    span.setStatus({ code: SpanStatusCode.ERROR });
  }
  span.end();
}

/** Work goes on whatever becomes of its spans: a processor of the user's may throw. */
function quietly<T>(act: () => T): T | null {
  try {
    return act();
  } catch (thrown) {
    diag.error("toren: a span was lost", thrown instanceof Error ? thrown.message : "");
    return null;
  }
}

const remote = (traceparent: string | null): Context => {
  const parsed = parseTraceparent(traceparent);
  if (parsed === null) return ROOT_CONTEXT;
  const { traceId, spanId, flags } = parsed;
  return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags: flags, isRemote: true });
};

const linkTo = (traceparent: string): Link[] => {
  const found = trace.getSpanContext(remote(traceparent));
  return found === undefined ? [] : [{ context: found }];
};

function traceparentOf(span: Span | undefined): string | null {
  const ids = span?.spanContext();
  if (ids === undefined || !trace.isSpanContextValid(ids)) return null;
  return formatTraceparent({ traceId: ids.traceId, spanId: ids.spanId, flags: ids.traceFlags });
}

/** Of the active span, whoever made it; null: there is none. */
export const activeTraceparent = (): string | null => traceparentOf(trace.getActiveSpan());

/** What the worker that calls this is at; null where nobody listens, or outside of all work. */
export const activeWork = (): Work | null => (context.active().getValue(WORK) as Work | undefined) ?? null;

/** The spans' ids for a log record about this run, while its work is under way here; nothing else. */
export function traceFields(runId: unknown): { readonly traceId: string; readonly spanId: string } | null {
  if (runId === undefined || runId === null || activeWork()?.runId !== runId) return null;
  const ids = trace.getActiveSpan()?.spanContext();
  return ids === undefined ? null : { traceId: ids.traceId, spanId: ids.spanId };
}

/** Before a process that may be frozen answers: what a batch still holds is sent, where the SDK can be asked to, within SPANS_FLUSH_MAX_MS. Never rejects. */
export async function flushSpans(sleep: (ms: number, signal?: AbortSignal) => Promise<void>): Promise<void> {
  const provider = trace.getTracerProvider() as Flushing;
  const own = provider.getDelegate?.() ?? provider;
  const flushing = quietly(async () => await own.forceFlush?.());
  if (flushing === null || own.forceFlush === undefined) return;
  const done = new AbortController();
  const sent = flushing.catch(() => {}).finally(() => done.abort());
  await Promise.race([sent, sleep(SPANS_FLUSH_MAX_MS, done.signal)]);
}
/** The API knows neither: the SDK's provider does the one, the place that it is registered in the other. */
interface Flushing {
  forceFlush?(): Promise<void>;
  getDelegate?(): Flushing;
}

const API = Symbol.for("opentelemetry.js.api.1");

/** Why spans would be lost, or lose each other, although an SDK is there; null: nothing is wrong. For whoever starts a worker to log. */
export function sdkProblem(): string | null {
  const registered = (globalThis as { [API]?: { version?: string; trace?: unknown } })[API];
  if (registered?.trace === undefined) return null;
  if (!isTraced())
    return `The OpenTelemetry SDK was registered with @opentelemetry/api ${registered.version}, which is older than this program's: no spans are made. Use an SDK for @opentelemetry/api 1.10 or later.`;
  const probe = createContextKey("toren probe");
  const kept = context.with(ROOT_CONTEXT.setValue(probe, true), () => context.active().getValue(probe));
  return kept === true
    ? null
    : "The OpenTelemetry SDK has no context manager: spans don't know their parents. Register AsyncLocalStorageContextManager, as NodeSDK does.";
}
