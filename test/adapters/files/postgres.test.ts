import { afterAll, beforeAll } from "@jest/globals";
import { createPostgresFiles } from "../../../shared/adapters/files/postgres.ts";
import { filesConformance } from "../../conformance/files.ts";
import { type TestDatabase, testDatabase } from "../../support/database.ts";

let db: TestDatabase;
beforeAll(async () => {
  db = await testDatabase();
});
afterAll(() => db.drop());

filesConformance("files in Postgres", () => createPostgresFiles(db.database));
