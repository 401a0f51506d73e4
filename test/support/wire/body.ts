// What came with a request, for the servers that stand for providers.
import type { IncomingMessage } from "node:http";

export async function readText(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8");
}

/** Undefined: it is no JSON. */
export function fromJson(raw: string): unknown {
  try {
    return JSON.parse(raw);
  } catch {
    return undefined;
  }
}

/** Half of a surrogate pair stands somewhere in it, in a key too: what some parsers of JSON refuse. */
export function hasLoneSurrogate(body: unknown): boolean {
  let found = false;
  JSON.stringify(body, (key, value: unknown) => {
    found ||= !key.isWellFormed() || (typeof value === "string" && !value.isWellFormed());
    return value;
  });
  return found;
}
