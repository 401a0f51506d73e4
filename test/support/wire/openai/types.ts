// What a test tells the server, and what it can ask it afterwards.
import type { IncomingMessage } from "node:http";
import type { HttpFault } from "../faults.ts";
import type { Reply, Spent } from "./reply.ts";
import type { ChatBody } from "./shape-chat.ts";
import type { ResponsesBody } from "./shape-responses.ts";

/** A request that was taken. */
export type Asked =
  | { readonly api: "responses"; readonly body: ResponsesBody }
  | { readonly api: "chat"; readonly body: ChatBody };

/** What goes wrong with one request. */
export type Fault =
  | HttpFault
  /** `body`: instead of an error in the API's form. */
  | {
      readonly status: number;
      readonly code?: string;
      readonly type?: string;
      readonly message?: string;
      readonly body?: unknown;
      readonly headers?: Readonly<Record<string, string>>;
    }
  /** An error within a stream, after so many of its events. */
  | { readonly errorAfter: number; readonly code?: string; readonly message?: string };

export interface Call {
  readonly n: number;
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly raw: string;
  /** As it came, whether or not it is right. */
  readonly body: ResponsesBody & ChatBody;
  /** Why it was refused; null: it was taken. */
  readonly refusal: string | null;
  /** The model was run; with what it cost. */
  billed: Spent | null;
  /** The whole answer went out. */
  delivered: boolean;
}

export interface WireOpenAiOptions {
  /** The `n`-th request that was taken, from 0. */
  readonly script: (asked: Asked, n: number) => Reply | Promise<Reply>;
  /** The `n`-th request that arrived, from 0. */
  readonly faults?: (n: number, path: string) => Fault | null;
  /** Of the `n`-th look at a background answer, from 0. */
  readonly lookFaults?: (n: number) => Fault | null;
  /** Default: any. */
  readonly apiKey?: string;
  /** Tokens of input that are too many; default: none are. */
  readonly window?: number;
  /** Looks at a background answer before it is there; default 1. */
  readonly looks?: number;
  /** False: models that reason don't stream for this account. */
  readonly verified?: boolean;
  /** Chat completions show reasoning, as other servers than OpenAI's do. */
  readonly showsReasoning?: boolean;
  /** The stream's usage isn't known here, as with old servers. */
  readonly knowsStreamOptions?: boolean;
}

export interface WireOpenAi {
  /** For OPENAI_BASE_URL. */
  readonly baseURL: string;
  readonly ledger: readonly Call[];
  /** Looks at background answers, by their ids. */
  readonly looks: readonly string[];
  /** Forgets all background answers. */
  expire(): void;
  close(): Promise<void>;
}
