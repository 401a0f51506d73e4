// An execution environment of a deployed function beside the emulator's: AWS' own runtime client over a Runtime API that the test serves. It can be of a
// version that isn't deployed any more, does nothing between two invocations that the test didn't ask for, and shows an answer while it is made.
import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { homedir } from "node:os";
import { join } from "node:path";

export interface EnvironmentSettings {
  /** The function's name on the emulator. */
  readonly name: string;
  /** Whether its calls of AWS are written down as the function's. */
  readonly recorded: boolean;
  /** The folder with its `index.mjs`. */
  readonly bundle: string;
  readonly variables: Readonly<Record<string, string>>;
  /** What each invocation may take. */
  readonly timeoutMs: number;
}

/** An answer of a function that streams, as API Gateway gets it. */
export interface Streamed {
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Pieces of the body, as they come. */
  readonly body: AsyncIterable<string>;
}

export interface ExecutionEnvironment {
  readonly pid: number;
  /** @throws what the handler threw, or that the process ended. */
  invoke<T>(event: unknown): Promise<T>;
  stream(event: unknown): Promise<Streamed>;
  freeze(): void;
  thaw(): void;
  end(): Promise<void>;
}

/** Between what API Gateway takes for itself and the body. */
const DELIMITER = Buffer.alloc(8);
const HANDLER = "index.handler";
const PATH = "/2018-06-01/runtime/";

interface Invocation {
  readonly id: string;
  readonly event: unknown;
  answer(request: IncomingMessage): void;
}

/** Ready for an invocation when it resolves, as after Lambda's init phase. @throws when the code doesn't load. */
export async function startEnvironment(settings: EnvironmentSettings): Promise<ExecutionEnvironment> {
  const waiting: Invocation[] = [];
  const working = new Map<string, Invocation>();
  let ask: ServerResponse | undefined;
  let ready = (): void => {};
  const isReady = new Promise<void>((resolve) => {
    ready = resolve;
  });
  const give = (): void => {
    if (ask === undefined) return;
    const [invocation] = waiting.splice(0, 1);
    if (invocation === undefined) return;
    working.set(invocation.id, invocation);
    ask.writeHead(200, headersOf(settings, invocation.id)).end(JSON.stringify(invocation.event));
    ask = undefined;
  };
  const server = createServer((request, response) => {
    const [what = "", id = "", end = ""] = (request.url ?? "").slice(PATH.length).split("/").slice(0, 3);
    if (request.method === "GET") {
      ask = response;
      ready();
      return give();
    }
    working.get(what === "init" ? "" : id)?.answer(request);
    working.delete(id);
    request.on("end", () => response.writeHead(202).end("{}"));
    if (end !== "response" && end !== "error") request.resume();
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const child = startRuntime(settings, (server.address() as AddressInfo).port);
  const ended = once(child, "exit").then(([code, signal]): never => {
    throw new Error(`an environment of ${settings.name} ended: ${code ?? signal}`);
  });
  const end = async (): Promise<void> => {
    child.kill("SIGKILL");
    await ended.catch(() => {});
    server.closeAllConnections();
    server.close();
  };
  await Promise.race([isReady, ended]).catch(async (e) => {
    await end();
    throw e;
  });
  const answered = (event: unknown): Promise<IncomingMessage> =>
    Promise.race([
      ended,
      new Promise<IncomingMessage>((answer) => {
        waiting.push({ id: randomUUID(), event, answer });
        give();
      }),
    ]);
  return {
    pid: child.pid ?? 0,
    invoke: async (event) => parsed(await answered(event)),
    stream: async (event) => streamed(await answered(event)),
    freeze: () => void child.kill("SIGSTOP"),
    thaw: () => void child.kill("SIGCONT"),
    end,
  };
}

/** Where emulator/start.sh keeps it. */
function runtimeClient(): string {
  const { AWS_EMULATOR_CACHE, XDG_CACHE_HOME, HOME = homedir() } = process.env;
  const cache = AWS_EMULATOR_CACHE || join(XDG_CACHE_HOME || join(HOME, ".cache"), "aws-emulator");
  return join(cache, "ric/node_modules/aws-lambda-ric/index.mjs");
}

function startRuntime({ name, bundle, variables, recorded }: EnvironmentSettings, port: number): ChildProcess {
  return spawn(process.execPath, [runtimeClient(), HANDLER], {
    cwd: bundle,
    stdio: ["ignore", "ignore", "inherit"],
    env: {
      PATH: process.env.PATH,
      HOME: "/tmp",
      TZ: "UTC",
      ...variables,
      // As the emulator's recorder knows who calls.
      ...(recorded ? { AWS_ACCESS_KEY_ID: `as.${name}` } : {}),
      AWS_LAMBDA_RUNTIME_API: `127.0.0.1:${port}`,
      AWS_LAMBDA_FUNCTION_NAME: name,
      AWS_LAMBDA_FUNCTION_VERSION: "$LATEST",
      AWS_LAMBDA_FUNCTION_MEMORY_SIZE: "1024",
      AWS_LAMBDA_LOG_GROUP_NAME: name,
      AWS_LAMBDA_LOG_STREAM_NAME: "beside",
      LAMBDA_TASK_ROOT: bundle,
      _HANDLER: HANDLER,
    },
  });
}

const headersOf = ({ name, timeoutMs }: EnvironmentSettings, id: string): Record<string, string> => ({
  "content-type": "application/json",
  "lambda-runtime-aws-request-id": id,
  "lambda-runtime-deadline-ms": String(Date.now() + timeoutMs),
  "lambda-runtime-invoked-function-arn": `arn:aws:lambda:us-east-1:000000000000:function:${name}`,
});

async function parsed<T>(answer: IncomingMessage): Promise<T> {
  let text = "";
  for await (const chunk of answer) text += String(chunk);
  if (!answer.url?.endsWith("/response")) throw new Error(text);
  return JSON.parse(text) as T;
}

async function streamed(answer: IncomingMessage): Promise<Streamed> {
  if (answer.headers["lambda-runtime-function-response-mode"] !== "streaming")
    throw new Error(`the function didn't stream: ${JSON.stringify(await parsed(answer))}`);
  const chunks = answer[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  let head = Buffer.alloc(0);
  for (let at = -1; at < 0; at = head.indexOf(DELIMITER)) {
    const { done, value } = await chunks.next();
    if (done === true) throw new Error(`an answer without a beginning: ${head.toString()}`);
    head = Buffer.concat([head, value]);
  }
  const at = head.indexOf(DELIMITER);
  const prelude = JSON.parse(head.subarray(0, at).toString()) as Omit<Streamed, "body">;
  const rest = head.subarray(at + DELIMITER.length);
  return { ...prelude, body: bodyOf(rest, chunks) };
}

async function* bodyOf(first: Buffer, chunks: AsyncIterator<Buffer>): AsyncGenerator<string> {
  if (first.length > 0) yield first.toString();
  for (;;) {
    const { done, value } = await chunks.next();
    if (done === true) return;
    yield value.toString();
  }
}
