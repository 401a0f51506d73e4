// What the server has said before: items under their ids, and whether it keeps them. It proves reasoning by its own signature, as if that were encryption.
import { createHash, createHmac, randomBytes } from "node:crypto";

export interface Issued {
  readonly id: string;
  readonly type: string;
  readonly model: string;
  /** Of reasoning: what proves it, and what has to follow it; null: nothing did. */
  readonly encrypted: string | null;
  readonly summary: string;
  readonly next: string | null;
  /** The reasoning that it can't stand without; null: none. */
  readonly requires: string | null;
  readonly stored: boolean;
}

export interface Memory {
  readonly items: Map<string, Issued>;
  newId(kind: "resp" | "msg" | "rs" | "fc" | "ws"): string;
}

const KEY = randomBytes(16);

export const createMemory = (): Memory => {
  let n = 0;
  return {
    items: new Map(),
    newId: (kind) => `${kind}_${createHash("sha256").update(`${n++}${kind}`).update(KEY).digest("hex").slice(0, 40)}`,
  };
};

export const encryptedContent = (model: string, id: string, said: string): string =>
  `gAAAA${createHmac("sha256", KEY)
    .update(JSON.stringify([model, id, said]))
    .digest("base64url")}`;
