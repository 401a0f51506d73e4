import { setTimeout as passTime } from "node:timers/promises";
import { openUrl } from "../../../shared/adapters/database/url.ts";
import { migrate } from "../../../shared/adapters/store/migrate.ts";
import { createStore } from "../../../shared/adapters/store/postgres.ts";
import { storeConformance } from "../../conformance/store.ts";
import { testDatabase } from "../../support/database.ts";

storeConformance("the store on Postgres", async () => {
  const { database, url, drop } = await testDatabase();
  await migrate(database, ["suite"]);
  const another = await openUrl(url);
  return {
    store: createStore(database),
    other: createStore(another),
    agent: "suite",
    passTime: (ms) => passTime(ms),
    close: async () => {
      await another.close();
      await drop();
    },
  };
});
