// YAML text to a plain value that still knows on which line each of its parts stands.
import { type Document, isAlias, isMap, isScalar, isSeq, LineCounter, type Node, type Pair, parseDocument } from "yaml";

export interface YamlProblem {
  readonly line: number;
  readonly message: string;
}

export type YamlPath = readonly (string | number)[];

export interface YamlText {
  readonly value: unknown;
  /** The line of a key or list item; of the nearest part above it when it isn't there. */
  lineOf(path: YamlPath): number;
}

export type ReadYaml =
  | { readonly ok: true; readonly yaml: YamlText }
  | { readonly ok: false; readonly problems: readonly YamlProblem[] };

export function readYaml(text: string): ReadYaml {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, version: "1.2" });
  const faults = [...document.errors, ...document.warnings];
  if (faults.length > 0) {
    return {
      ok: false,
      problems: faults
        .slice(0, PROBLEMS_MAX)
        .map((fault) => ({ line: lines.linePos(fault.pos[0]).line, message: withoutAdvice(fault.message) })),
    };
  }
  try {
    const value: unknown = document.toJS({ maxAliasCount: 100 });
    return { ok: true, yaml: { value, lineOf: (path) => lines.linePos(offsetOf(document, path)).line } };
  } catch (thrown) {
    return { ok: false, problems: [{ line: 1, message: thrown instanceof Error ? thrown.message : String(thrown) }] };
  }
}

/** One fault brings others with it; the first ones say enough. */
const PROBLEMS_MAX = 20;

/** The library's advice is for its callers, not for who writes the file. */
const withoutAdvice = (message: string): string => message.replace(/;? please use YAML\.\w+\(\)/i, "");

function offsetOf(document: Document.Parsed, path: YamlPath): number {
  let node: unknown = document.contents;
  let offset = startOf(node) ?? 0;
  for (const part of path) {
    const target = isAlias(node) ? node.resolve(document) : node;
    if (isMap(target)) {
      const pair: Pair | undefined = target.items.find(
        ({ key }) => String(isScalar(key) ? key.value : key) === String(part),
      );
      if (pair === undefined) return offset;
      offset = startOf(pair.key) ?? offset;
      node = pair.value;
    } else if (isSeq(target)) {
      node = target.items[Number(part)];
      offset = startOf(node) ?? offset;
    } else return offset;
  }
  return offset;
}

const startOf = (node: unknown): number | undefined => (node as Node | null | undefined)?.range?.[0];
