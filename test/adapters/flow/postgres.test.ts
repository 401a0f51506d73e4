import { afterAll, beforeAll } from "@jest/globals";
import { createPostgresFlow } from "../../../shared/adapters/flow/postgres.ts";
import type { Flow } from "../../../shared/ports/flow.ts";
import { flowConformance } from "../../conformance/flow.ts";
import { type TestDatabase, testDatabase } from "../../support/database.ts";
import { forgetGates, passFlowTime } from "../../support/flow.ts";

let db: TestDatabase;
let flow: Flow;
let other: Flow;
beforeAll(async () => {
  db = await testDatabase();
  flow = createPostgresFlow(db.database);
  other = createPostgresFlow(db.database);
});
afterAll(() => db.drop());

flowConformance("flow control in Postgres", () => ({
  flow,
  other,
  empty: () => forgetGates(db.database),
  pass: (ms) => passFlowTime(db.database, ms),
}));
