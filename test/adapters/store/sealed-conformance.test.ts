import { setTimeout as sleep } from "node:timers/promises";
import { migrate } from "../../../shared/adapters/store/migrate.ts";
import { createStore } from "../../../shared/adapters/store/postgres.ts";
import { storeConformance } from "../../conformance/store.ts";
import { testDatabase } from "../../support/database.ts";
import { masterKey, sealerWith } from "../../support/sealer.ts";

const KEY = masterKey("mine");

// What reads or writes content; leases, parks and waves know none.
storeConformance("the store on Postgres, its runs sealed", async () => {
  const { database, drop } = await testDatabase();
  await migrate(database, ["suite"]);
  const sealed = () => createStore({ ...database, sealer: sealerWith(KEY) });
  return { store: sealed(), other: sealed(), agent: "suite", passTime: (ms: number) => sleep(ms), close: drop };
}, ["appends", "values", "facts", "children", "people"]);
