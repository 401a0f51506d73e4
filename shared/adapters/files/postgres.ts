// Files in Postgres, of whatever size. Twin on AWS: s3.ts.
import type { Database } from "../../ports/database.ts";
import type { Files } from "../../ports/files.ts";
import { createFileRows } from "./rows.ts";

export const createPostgresFiles = (database: Database): Files => ({
  ...createFileRows(database, null),
  uploads: null,
});
