// Files whose content is sealed, in rows and in an object store: the object store is a map here, what holds it to S3 is test/aws.
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { createPostgresFiles } from "../../../shared/adapters/files/postgres.ts";
import { createFileRows, type ObjectStore } from "../../../shared/adapters/files/rows.ts";
import { filesConformance } from "../../conformance/files.ts";
import { type TestDatabase, testDatabase } from "../../support/database.ts";
import { masterKey, sealerWith } from "../../support/sealer.ts";

const KEY = masterKey("mine");
let db: TestDatabase;
beforeAll(async () => {
  db = await testDatabase();
});
afterAll(() => db.drop());
const sealed = () => ({ ...db.database, sealer: sealerWith(KEY) });

filesConformance("files in Postgres, sealed", () => createPostgresFiles(sealed()));

describe("large files", () => {
  const objects = new Map<string, Uint8Array>();
  const store: ObjectStore = {
    aboveBytes: 100,
    put: async (key, content) => void objects.set(key, Uint8Array.from(content)),
    get: async (key) => objects.get(key) ?? null,
    remove: async (key) => void objects.delete(key),
  };
  const large = (n: number) => new TextEncoder().encode(`canary ${n} `.repeat(50));
  const fileOf = (n: number) => ({ name: "a.txt", mediaType: "text/plain", content: large(n) });

  test("lie sealed in the object store; two that come at once are one file that opens, and one object", async () => {
    const [one, two] = [createFileRows(sealed(), store), createFileRows(sealed(), store)];
    const added = await Promise.all([one, two, one, two].map((files) => files.add(fileOf(1))));
    expect(new Set(added.map(({ id }) => id)).size).toBe(1);
    const id = added[0]?.id ?? "";
    expect(Buffer.from((await two.content(id)) ?? [])).toEqual(Buffer.from(large(1)));
    expect(objects.size).toBe(1);
    expect(Buffer.from([...objects.values()][0] ?? []).includes("canary")).toBe(false);
    await one.add(fileOf(1));
    expect(objects.size).toBe(1);
    await one.remove(id);
    expect(objects.size).toBe(0);
  });

  test("that were there in clear stay so, and readable", async () => {
    const { sealer: _sealer, ...plain } = db.database;
    const { id } = await createFileRows(plain, store).add(fileOf(2));
    const files = createFileRows(sealed(), store);
    expect(await files.add(fileOf(2))).toMatchObject({ id, bytes: large(2).byteLength });
    expect(Buffer.from((await files.content(id)) ?? [])).toEqual(Buffer.from(large(2)));
    expect([...objects.keys()]).toEqual([`files/${id}`]);
  });
});
