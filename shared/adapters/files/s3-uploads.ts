// Where a client puts a file that is too large for a request: the API's gateway takes 10 MB, and what it hands to a function 6 MB with the body in base64.
// Each upload has an object of its own under `uploads/`, which the bucket forgets after a day; what is added from it lies under `files/`.
import { randomUUID } from "node:crypto";
import type * as sdkTypes from "@aws-sdk/client-s3";
import type { S3Client } from "@aws-sdk/client-s3";
import { TorenError } from "../../core/errors.ts";
import { FILE_LINK_MS, FILE_MAX_BYTES } from "../../core/limits.ts";
import type { Uploads } from "../../ports/files.ts";

export interface UploadBucket {
  readonly bucket: string;
  /** The SDK and its client, loaded when first used. */
  s3(): Promise<{ readonly sdk: typeof sdkTypes; readonly client: S3Client }>;
  /** What a call threw, as the port says it. */
  away(thrown: unknown): TorenError;
}

export function createUploads({ bucket: Bucket, s3, away }: UploadBucket): Uploads {
  return {
    begin: async (bytes) => {
      const { sdk, client } = await s3();
      const { getSignedUrl } = await import("@aws-sdk/s3-request-presigner");
      const id = randomUUID();
      // The length is signed: another body is refused by S3.
      const command = new sdk.PutObjectCommand({ Bucket, Key: keyOf(id), ContentLength: bytes });
      try {
        const url = await getSignedUrl(client, command, { expiresIn: FILE_LINK_MS / 1_000 });
        return { id, url, expiresInMs: FILE_LINK_MS };
      } catch (e) {
        throw away(e);
      }
    },
    read: async (id) => {
      if (!ID.test(id)) return null;
      const { sdk, client } = await s3();
      try {
        const { Body, ContentLength = 0 } = await client.send(new sdk.GetObjectCommand({ Bucket, Key: keyOf(id) }));
        if (ContentLength > FILE_MAX_BYTES)
          throw new TorenError(
            "request.too_large",
            `What was put there has ${ContentLength} bytes; ${FILE_MAX_BYTES} is the most.`,
          );
        return (await Body?.transformToByteArray()) ?? null;
      } catch (e) {
        if (e instanceof TorenError) throw e;
        if ((e as Error).name === "NoSuchKey") return null;
        throw away(e);
      }
    },
    drop: async (id) => {
      if (!ID.test(id)) return;
      const { sdk, client } = await s3();
      await client.send(new sdk.DeleteObjectCommand({ Bucket, Key: keyOf(id) })).catch(() => {}); // the bucket forgets it
    },
  };
}

/** Ids come back from clients: nothing else of the bucket is named by one. */
const ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const keyOf = (id: string): string => `uploads/${id}`;
