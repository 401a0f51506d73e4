// Files on AWS: in Postgres, and above 4 MiB in S3. Twin on a laptop: postgres.ts.
import type * as sdkTypes from "@aws-sdk/client-s3";
import type { S3Client } from "@aws-sdk/client-s3";
import { messageOf, TorenError } from "../../core/errors.ts";
import { FILE_IN_ROW_BYTES } from "../../core/limits.ts";
import type { Database } from "../../ports/database.ts";
import type { Files } from "../../ports/files.ts";
import { OBJECT_CALLS } from "../aws/calls.ts";
import { createFileRows, type ObjectStore } from "./rows.ts";
import { createUploads } from "./s3-uploads.ts";

export interface S3FilesOptions {
  readonly database: Database;
  readonly bucket: string;
  /** Buckets by path, not by host: an emulator has no names for them. */
  readonly pathStyle?: boolean;
}

export function createS3Files({ database, bucket, pathStyle = false }: S3FilesOptions): Files {
  let loaded: ReturnType<typeof loadS3> | undefined;
  const s3 = () => {
    loaded ??= loadS3(pathStyle);
    return loaded;
  };
  return {
    ...createFileRows(database, createBucket(bucket, s3)),
    uploads: createUploads({ bucket, s3, away }),
  };
}

type Sdk = typeof sdkTypes;

/** The SDK is loaded when a large file comes, and not before. */
async function loadS3(forcePathStyle: boolean): Promise<{ sdk: Sdk; client: S3Client }> {
  const sdk = await import("@aws-sdk/client-s3");
  // Else a presigned address would carry the checksum of no content at all.
  const checksums = { requestChecksumCalculation: "WHEN_REQUIRED" } as const;
  return { sdk, client: new sdk.S3Client({ ...OBJECT_CALLS, ...checksums, forcePathStyle }) };
}

function createBucket(Bucket: string, s3: () => ReturnType<typeof loadS3>): ObjectStore {
  return {
    aboveBytes: FILE_IN_ROW_BYTES,
    put: async (Key, Body) => {
      const { sdk, client } = await s3();
      await reached(() => client.send(new sdk.PutObjectCommand({ Bucket, Key, Body, ContentLength: Body.byteLength })));
    },
    get: async (Key) => {
      const { sdk, client } = await s3();
      try {
        const { Body } = await client.send(new sdk.GetObjectCommand({ Bucket, Key }));
        return (await Body?.transformToByteArray()) ?? null;
      } catch (e) {
        if ((e as Error).name === "NoSuchKey") return null;
        throw away(e);
      }
    },
    remove: async (Key) => {
      const { sdk, client } = await s3();
      await reached(() => client.send(new sdk.DeleteObjectCommand({ Bucket, Key })));
    },
  };
}

async function reached<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (e) {
    throw away(e);
  }
}

const away = (e: unknown): TorenError =>
  new TorenError("files.unavailable", `The store of large files didn't answer: ${messageOf(e)}`, { cause: e });
