// OpenTelemetry's real SDK with an exporter in memory, as a user would register one, and the spans of a run as a tree.
import { context, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import {
  InMemorySpanExporter,
  type ReadableSpan,
  type Sampler,
  SimpleSpanProcessor,
  type SpanProcessor,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
import { parseTraceparent } from "../../shared/core/traceparent.ts";

export interface Sdk {
  /** What was exported: spans that have ended, in that order. */
  spans(): readonly ReadableSpan[];
  reset(): void;
  /** Deregisters it, so that nobody listens any more. */
  close(): void;
}

export function registerSdk(more: { sampler?: Sampler; processors?: SpanProcessor[] } = {}): Sdk {
  const exporter = new InMemorySpanExporter();
  const { sampler, processors = [] } = more;
  const provider = new TracerProvider({
    spanProcessors: [new SimpleSpanProcessor({ exporter }), ...processors],
    ...(sampler === undefined ? {} : { sampler }),
  });
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  trace.setGlobalTracerProvider(provider);
  return {
    spans: () => exporter.getFinishedSpans(),
    reset: () => exporter.reset(),
    close: () => {
      trace.disable();
      context.disable();
    },
  };
}

export const idOf = (span: ReadableSpan): string => span.spanContext().spanId;
export const traceOf = (span: ReadableSpan): string => span.spanContext().traceId;
export const parentOf = (span: ReadableSpan): string | undefined => span.parentSpanContext?.spanId;
export const linksOf = (span: ReadableSpan): string[] => span.links.map((link) => link.context.spanId);
export const named = (spans: readonly ReadableSpan[], name: string): ReadableSpan[] =>
  spans.filter((span) => span.name === name);
export const spanIdIn = (traceparent: string): string => parseTraceparent(traceparent)?.spanId ?? "";

/** What a span is about, without `toren.`: its task, role, tool or step. */
const label = ({ name, attributes: a }: ReadableSpan): string => {
  const what = a["gen_ai.tool.name"] ?? a["toren.step_id"] ?? a["gen_ai.agent.name"] ?? "";
  return [name.slice("toren.".length), a["toren.task_id"] ?? "", what].filter((part) => part !== "").join(" ");
};

/** Each span on a line below its parent, indented by depth; siblings by what they are, equal ones in the order of their starts. */
export function tree(spans: readonly ReadableSpan[]): string[] {
  const ids = new Set(spans.map(idOf));
  const inOrder = [...spans].sort(
    (a, b) => label(a).localeCompare(label(b)) || a.startTime[0] - b.startTime[0] || a.startTime[1] - b.startTime[1],
  );
  const below = (parent: string | undefined, depth: number): string[] =>
    inOrder
      .filter((span) => (parent === undefined ? !ids.has(parentOf(span) ?? "") : parentOf(span) === parent))
      .flatMap((span) => [`${"  ".repeat(depth)}${label(span)}`, ...below(idOf(span), depth + 1)]);
  return below(undefined, 0);
}
