import { randomUUID } from "node:crypto";
import { CreateBucketCommand, ListObjectsV2Command, S3Client } from "@aws-sdk/client-s3";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { createPostgresFiles } from "../../../shared/adapters/files/postgres.ts";
import { createS3Files } from "../../../shared/adapters/files/s3.ts";
import { FILE_IN_ROW_BYTES, FILE_LINK_MS } from "../../../shared/core/limits.ts";
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

describe("what is too large for a request", () => {
  const content = new Uint8Array(Buffer.alloc(7 * 1024 * 1024, "text "));
  const uploads = () => files.uploads as NonNullable<Files["uploads"]>;

  test("is put at an address that proves itself, read back, and dropped", async () => {
    const { id, url, expiresInMs } = await uploads().begin(content.byteLength);
    expect(expiresInMs).toBe(FILE_LINK_MS);
    const signed = new URL(url).searchParams;
    expect(signed.get("X-Amz-SignedHeaders")).toBe("content-length;host");
    expect(signed.get("X-Amz-Expires")).toBe(String(FILE_LINK_MS / 1_000));
    // A checksum here would be that of no content, and S3 would refuse all other.
    expect([...signed.keys()].filter((name) => /checksum/i.test(name))).toEqual([]);
    expect(await uploads().read(id)).toBeNull();
    expect((await fetch(url, { method: "PUT", body: content })).status).toBe(200);
    expect(Buffer.compare(Buffer.from((await uploads().read(id)) ?? []), Buffer.from(content))).toBe(0);
    await uploads().drop(id);
    await uploads().drop(id);
    expect(await uploads().read(id)).toBeNull();
  });

  test("nothing else of the bucket is named by an id", async () => {
    const info = await files.add({ name: "other.bin", mediaType: "text/plain", content });
    for (const id of [`../files/${info.id}`, info.id, ""]) expect(await uploads().read(id)).toBeNull();
    await uploads().drop(`../files/${info.id}`);
    expect((await files.content(info.id))?.byteLength).toBe(content.byteLength);
  });
});

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
