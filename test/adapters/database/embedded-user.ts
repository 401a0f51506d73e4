// A process that uses the embedded database of a folder: says in one line what it got, lives until its standard input ends, and closes.
import { openEmbedded } from "../../../shared/adapters/database/embedded.ts";

const folder = process.argv[2] ?? "";
const database = await openEmbedded(folder);
const { rows } = await database.pool.query("SELECT count(*)::int AS tables FROM pg_tables WHERE tablename = 'kept'");
console.log(
  JSON.stringify({
    url: database.url,
    port: database.port,
    server: database.pid(),
    joined: database.joined,
    tables: rows[0].tables,
  }),
);
process.stdin.resume();
process.stdin.on("end", async () => {
  await database.close();
  process.exit(0);
});
