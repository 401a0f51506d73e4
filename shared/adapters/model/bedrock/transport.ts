// HTTP/1.1 for the SDK. Its own choice for this client is HTTP/2, which gateways behind a base URL mostly don't speak; and it hands whatever comes with
// status 200 to its decoder, which takes the first four bytes of a web page for a length of a gigabyte. Here what isn't Bedrock's answer is told first.
import { type IncomingMessage, Agent as PlainAgent, request as plainRequest } from "node:http";
import { Agent as TlsAgent, request as tlsRequest } from "node:https";
import { MODEL_CONNECT_MS, MODEL_ERROR_PAGE_CHARS } from "../../../core/limits.ts";
import { withoutTags } from "../failure.ts";

/** The answer of something that isn't Bedrock: a proxy, a login page, a server of another kind. */
export class NotBedrock extends Error {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  constructor(status: number, headers: Readonly<Record<string, string>>, text: string) {
    const contentType = headers["content-type"];
    const start = withoutTags(text);
    super(`status ${status}, ${contentType || "no content type"}${start === "" ? ", no text" : `: ${start}`}`);
    this.name = "NotBedrock";
    this.status = status;
    this.headers = headers;
  }
}

interface Outgoing {
  readonly method: string;
  readonly protocol: string;
  readonly hostname: string;
  readonly port?: number;
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body?: unknown;
}
interface Incoming {
  readonly statusCode: number;
  readonly reason: string | undefined;
  readonly headers: Record<string, string>;
  readonly body: IncomingMessage;
}
interface SignalOptions {
  readonly abortSignal?: AbortSignal;
}

/** A request handler as the SDK wants one. Connections are kept and shared; dead peers are found by TCP's own probes. */
export function createTransport() {
  const settings = { keepAlive: true, noDelay: true };
  const agents = { plain: new PlainAgent(settings), tls: new TlsAgent(settings) };
  return {
    metadata: { handlerProtocol: "http/1.1" },
    handle: async (outgoing: Outgoing, { abortSignal }: SignalOptions = {}): Promise<{ response: Incoming }> => {
      const message = await send(outgoing, agents, abortSignal);
      const { statusCode = 0, statusMessage: reason } = message;
      const headers = Object.fromEntries(
        Object.entries(message.headers).map(([name, value]) => [
          name,
          Array.isArray(value) ? value.join(", ") : (value ?? ""),
        ]),
      );
      if (!isBedrocks(outgoing.path, statusCode, headers)) throw await notBedrock(message, headers);
      return { response: { statusCode, reason, headers, body: message } };
    },
    updateHttpClientConfig: (): void => {},
    httpHandlerConfigs: (): object => ({}),
    destroy: (): void => {
      agents.plain.destroy();
      agents.tls.destroy();
    },
  };
}

function send(
  { method, protocol, hostname, port, path, headers, body }: Outgoing,
  agents: { readonly plain: PlainAgent; readonly tls: TlsAgent },
  signal: AbortSignal | undefined,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const tls = protocol !== "http:";
    const host = hostname.replace(/^\[(.*)\]$/, "$1");
    const options = { method, host, port, path, headers };
    const outgoing = tls
      ? tlsRequest({ ...options, agent: agents.tls })
      : plainRequest({ ...options, agent: agents.plain });
    const abort = (): void => void outgoing.destroy(asError(signal?.reason));
    signal?.addEventListener("abort", abort, { once: true });
    outgoing.once("close", () => signal?.removeEventListener("abort", abort)); // not before the answer's end
    boundConnecting(outgoing, host, tls);
    outgoing.once("response", resolve);
    outgoing.once("error", reject);
    outgoing.end(body);
  });
}

/** A host that takes no connection would be waited for as long as for an answer. */
function boundConnecting(outgoing: ReturnType<typeof plainRequest>, host: string, tls: boolean): void {
  outgoing.once("socket", (socket) => {
    if (!socket.connecting) return;
    const late = (): void => void outgoing.destroy(new Error(`${host} took no connection in ${MODEL_CONNECT_MS} ms`));
    const timer = setTimeout(late, MODEL_CONNECT_MS);
    timer.unref();
    const done = (): void => clearTimeout(timer);
    socket.once(tls ? "secureConnect" : "connect", done);
    socket.once("close", done);
  });
}

const asError = (reason: unknown): Error => (reason instanceof Error ? reason : new Error("the call was stopped"));

/** Bedrock answers in JSON, errors too, but for a stream that began. Errors without a content type are left to the SDK: it reads their headers. */
function isBedrocks(path: string, status: number, headers: Record<string, string>): boolean {
  const type = headers["content-type"] ?? "";
  if (status >= 200 && status < 300)
    return path.endsWith("/converse-stream") ? type.includes("eventstream") : type.includes("json");
  return type === "" || type.includes("json");
}

async function notBedrock(message: IncomingMessage, headers: Readonly<Record<string, string>>): Promise<NotBedrock> {
  let text = "";
  try {
    for await (const chunk of message) {
      text += String(chunk);
      if (text.length > MODEL_ERROR_PAGE_CHARS) break;
    }
  } catch {
    // what came so far is enough
  }
  message.destroy();
  return new NotBedrock(message.statusCode ?? 0, headers, text.slice(0, MODEL_ERROR_PAGE_CHARS).toWellFormed());
}
