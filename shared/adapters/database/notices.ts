// A connection that listens, made when somebody wants to hear and ended when nobody does. Best effort: whoever hears also asks now and then.
import { messageOf } from "../../core/errors.ts";
import { LISTEN_PING_MS, LISTEN_RETRY_MS } from "../../core/limits.ts";
import type { Database } from "../../ports/database.ts";
import type { Log } from "../../ports/log.ts";

export interface Notices {
  /** `heard` gets every payload; `again` is called whenever some may have been missed: each time the connection is there. Returns how to stop. */
  on(channel: string, heard: (payload: string) => void, again?: () => void): () => void;
  close(): Promise<void>;
}

interface Ear {
  readonly heard: (payload: string) => void;
  readonly again: () => void;
}

/** Channels are names of ours: lower case letters, digits and _. */
export function createNotices(database: Pick<Database, "session">, log: Log): Notices {
  const ears = new Map<string, Set<Ear>>();
  let listener: Listener | null = null;
  let connecting: Promise<void> | null = null;
  let retry: NodeJS.Timeout | undefined;
  let closed = false;
  let away = false;

  const heard = (channel: string, payload: string): void => {
    for (const ear of ears.get(channel) ?? []) ear.heard(payload);
  };
  const later = (): void => {
    listener = null;
    if (!closed && ears.size > 0) retry = setTimeout(ensure, LISTEN_RETRY_MS).unref();
  };
  const connect = async (): Promise<void> => {
    try {
      listener = await openListener(database, [...ears.keys()], heard, later);
      away = false;
      // Those that came meanwhile too: each is told when it is heard, and not before.
      for (const [channel, set] of ears)
        listener.listen(channel, () => {
          for (const ear of set) ear.again();
        });
    } catch (e) {
      if (!away && !closed) log.warn("not listening, asking instead", { error: messageOf(e) });
      away = true;
      later();
    }
  };
  const ensure = (): void => {
    if (closed || listener !== null || ears.size === 0) return;
    connecting ??= connect().finally(() => {
      connecting = null;
      if (ears.size === 0) drop();
    });
  };
  const drop = (): void => {
    clearTimeout(retry);
    listener?.end();
    listener = null;
  };
  const leave = (channel: string, ear: Ear): void => {
    const set = ears.get(channel);
    if (set?.delete(ear) !== true || set.size > 0) return;
    ears.delete(channel);
    if (ears.size === 0) drop();
    else listener?.unlisten(channel);
  };
  return {
    on: (channel, hears, again = () => {}) => {
      const ear = { heard: hears, again };
      const set = ears.get(channel) ?? new Set();
      ears.set(channel, set.add(ear));
      if (listener === null) ensure();
      else listener.listen(channel, again);
      return () => leave(channel, ear);
    },
    close: async () => {
      closed = true;
      ears.clear();
      await connecting;
      drop();
    },
  };
}

interface Listener {
  /** `then`: it listens. */
  listen(channel: string, then?: () => void): void;
  unlisten(channel: string): void;
  end(): void;
}

/** @throws what the driver throws; `lost` is called once it was there and ended by itself. */
async function openListener(
  database: Pick<Database, "session">,
  channels: readonly string[],
  heard: (channel: string, payload: string) => void,
  lost: () => void,
): Promise<Listener> {
  const client = await database.session();
  const listening = new Set(channels);
  const ping = setInterval(() => client.query("SELECT 1").catch(() => {}), LISTEN_PING_MS).unref(); // some servers end idle sessions
  let ended = false;
  const end = (): void => {
    ended = true;
    clearInterval(ping);
    client.end().catch(() => {});
  };
  client.on("notification", ({ channel, payload = "" }) => heard(channel, payload));
  client.once("end", () => {
    clearInterval(ping);
    if (!ended) lost();
  });
  try {
    await client.query(channels.map((channel) => `LISTEN ${channel}`).join("; "));
  } catch (e) {
    end();
    throw e;
  }
  const quietly = (text: string, then: () => void): void => void client.query(text).then(then, () => {}); // its end says what is wrong
  return {
    listen: (channel, then = () => {}) => {
      if (listening.has(channel)) queueMicrotask(then);
      else quietly(`LISTEN ${channel}`, then);
      listening.add(channel);
    },
    unlisten: (channel) => {
      if (listening.delete(channel)) quietly(`UNLISTEN ${channel}`, () => {});
    },
    end,
  };
}
