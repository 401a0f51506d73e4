// For `toren files add`: the server that is there, else one that only keeps them, in the state folder's database.
import type { Terminal } from "../terminal/terminal.ts";
import { type Connection, connect } from "./connect.ts";
import { chooseModel } from "./models.ts";
import { startOwnServer } from "./own-server.ts";

export const connectForFiles = (terminal: Terminal): Promise<Connection> =>
  connect(terminal, () =>
    startOwnServer(terminal, {
      agentsFolder: null,
      agent: null,
      choice: chooseModel(undefined, terminal.env, false),
      worker: false,
      say: (text) => terminal.err.write(`${text}\n`),
    }),
  );
