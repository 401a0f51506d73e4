// A door before a Postgres as RDS has one: TLS only, and a password that is asked for in clear text, since a token is longer than any hash of it.
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { TLSSocket } from "node:tls";
import pg from "pg";

export interface TlsDoor {
  readonly port: number;
  /** What its certificate must be checked against. */
  readonly ca: string;
  /** Passwords that came, in order. */
  readonly asked: readonly string[];
  close(): Promise<void>;
}

/** Signs in by the target's own means, with the settings that the client asked for; what follows is the client's. */
async function enter(target: URL, startup: Buffer): Promise<Socket> {
  const words = startup.subarray(8).toString("utf8").split("\0");
  const asked = Object.fromEntries(
    words.flatMap((word, i) => (i % 2 === 0 && word !== "" ? [[word, words[i + 1]]] : [])),
  );
  const { user: _, database: __, ...settings } = asked;
  const client = new pg.Client({ connectionString: target.href, ...settings }) as pg.Client & {
    readonly connection: { readonly stream: Socket };
  };
  client.on("error", () => {});
  await client.connect();
  const { stream } = client.connection;
  stream.removeAllListeners("data");
  return stream;
}

/** AuthenticationOk, ReadyForQuery. */
const WELCOME = Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 0, 0x5a, 0, 0, 0, 5, 0x49]);
const ASK_PASSWORD = Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 3]);

export async function openTlsDoor(target: URL, admits: (password: string) => boolean): Promise<TlsDoor> {
  const { key, cert } = selfSigned();
  const asked: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    socket.once("data", () => {
      socket.write("S");
      const tls = new TLSSocket(socket, { isServer: true, key, cert });
      tls.on("error", () => {});
      tls.once("data", (startup) => {
        tls.write(ASK_PASSWORD);
        tls.once("data", (answer) => {
          const password = answer.subarray(5, -1).toString("utf8");
          asked.push(password);
          if (!admits(password)) return tls.end(refusal());
          enter(target, startup).then(
            (upstream) => {
              upstream.on("error", () => tls.destroy());
              tls.write(WELCOME);
              tls.pipe(upstream).pipe(tls);
            },
            () => tls.destroy(),
          );
        });
      });
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (typeof address !== "object" || address === null) throw new Error("a listening server has an address");
  return {
    port: address.port,
    ca: cert,
    asked,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}

function refusal(): Buffer {
  const fields = Buffer.from("SFATAL\0C28P01\0MPAM authentication failed\0\0");
  const length = Buffer.alloc(4);
  length.writeInt32BE(fields.length + 4);
  return Buffer.concat([Buffer.from("E"), length, fields]);
}

function selfSigned(): { key: string; cert: string } {
  const folder = mkdtempSync(join(tmpdir(), "toren-tls-"));
  try {
    const [key, cert] = [join(folder, "key.pem"), join(folder, "cert.pem")];
    const subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"];
    const kind = ["-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"];
    execFileSync("openssl", ["req", ...kind, ...subject, "-keyout", key, "-out", cert], { stdio: "ignore" });
    return { key: readFileSync(key, "utf8"), cert: readFileSync(cert, "utf8") };
  } finally {
    rmSync(folder, { recursive: true });
  }
}
