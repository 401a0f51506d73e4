import { randomUUID } from "node:crypto";
import { CreateBucketCommand, ListObjectsV2Command, S3Client } from "@aws-sdk/client-s3";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { createPostgresFiles } from "../../../shared/adapters/files/postgres.ts";
import { createS3Files } from "../../../shared/adapters/files/s3.ts";
import { FILE_IN_ROW_BYTES } from "../../../shared/core/limits.ts";
import type { Files } from "../../../shared/ports/files.ts";
import { filesConformance } from "../../conformance/files.ts";
import { type TestDatabase, testDatabase } from "../../support/database.ts";

const s3 = new S3Client({ forcePathStyle: true });
const bucket = `toren-${randomUUID()}`;
let db: TestDatabase;
let files: Files;
beforeAll(async () => {
  db = await testDatabase();
  await s3.send(new CreateBucketCommand({ Bucket: bucket }));
  files = createS3Files({ database: db.database, bucket, pathStyle: true });
});
afterAll(() => db.drop());

filesConformance("files in Postgres and S3", () => files);

describe("a file above 4 MiB", () => {
  const content = Uint8Array.from({ length: FILE_IN_ROW_BYTES + 1 }, (_, n) => (n * 31) % 251);
  const objects = async () => {
    const { Contents = [] } = await s3.send(new ListObjectsV2Command({ Bucket: bucket }));
    return Contents.map((object) => object.Key);
  };
  const inRow = async (id: string) =>
    (await db.database.pool.query("SELECT content IS NOT NULL AS here FROM toren_control.files WHERE id = $1", [id]))
      .rows[0]?.here;

  test("lies in the bucket, reads back byte for byte, and goes with its row", async () => {
    const info = await files.add({ name: "large.bin", mediaType: "application/octet-stream", content });
    expect(info.bytes).toBe(content.byteLength);
    expect(await inRow(info.id)).toBe(false);
    expect(await objects()).toContain(`files/${info.id}`);
    const read = Buffer.from((await files.content(info.id)) ?? []);
    expect(Buffer.compare(read, Buffer.from(content))).toBe(0);
    expect(await files.remove(info.id)).toEqual({ type: "removed" });
    expect(await objects()).not.toContain(`files/${info.id}`);
  });

  test("one byte less lies in its row", async () => {
    const info = await files.add({ name: "small.bin", mediaType: "text/plain", content: content.subarray(1) });
    expect(await inRow(info.id)).toBe(true);
    expect(await objects()).not.toContain(`files/${info.id}`);
  });

  test("is refused with a reason by who doesn't use the bucket", async () => {
    const info = await files.add({ name: "elsewhere.bin", mediaType: "text/plain", content });
    const laptop = createPostgresFiles(db.database);
    await expect(laptop.content(info.id)).rejects.toMatchObject({ code: "file.unreadable" });
    expect(await laptop.list([info.id])).toEqual([info]);
  });

  test("isn't added when the bucket is away, and no row names it", async () => {
    const nowhere = createS3Files({ database: db.database, bucket: "toren-no-such-bucket", pathStyle: true });
    const name = "lost.bin";
    await expect(nowhere.add({ name, mediaType: "text/plain", content })).rejects.toMatchObject({
      code: "files.unavailable",
    });
    const { rows } = await db.database.pool.query("SELECT FROM toren_control.files WHERE name = $1", [name]);
    expect(rows).toEqual([]);
  });
});
