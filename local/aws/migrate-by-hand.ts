// What CloudFormation does with a custom resource, for emulators that know none: the function is invoked with an address to put its answer to.
import { randomUUID } from "node:crypto";
import { CreateBucketCommand, PutObjectCommand, S3Client } from "@aws-sdk/client-s3";
import { getSignedUrl } from "@aws-sdk/s3-request-presigner";
import type { Answer } from "../../functions/migrate.ts";
import { CREDENTIALS, type Deployed, functionNamed, REGION } from "./deploy.ts";
import { awsRequest } from "./request.ts";

const BUCKET = "toren-migrate-answers";

/** @throws what the migration says is wrong. */
export async function migrateByHand(endpoint: string, deployed: Deployed): Promise<void> {
  const common = { region: REGION, credentials: CREDENTIALS, forcePathStyle: true };
  await new S3Client({ ...common, endpoint }).send(new CreateBucketCommand({ Bucket: BUCKET }));
  const Key = randomUUID();
  const event = {
    RequestType: "Create",
    ResponseURL: await getSignedUrl(
      new S3Client({ ...common, endpoint: asFunctionsSee(endpoint, deployed) }),
      new PutObjectCommand({ Bucket: BUCKET, Key }),
      { expiresIn: 3_600 },
    ),
    StackId: "by-hand",
    RequestId: Key,
    LogicalResourceId: "Migration",
    ResourceType: "Custom::TorenMigration",
    ResourceProperties: { Code: Key },
  };
  const path = `/2015-03-31/functions/${functionNamed(deployed, "migrate")}/invocations`;
  const said = JSON.parse(await awsRequest(endpoint, "lambda", "POST", path, JSON.stringify(event))) as Partial<Answer>;
  if (said.Status !== "SUCCESS") throw new Error(said.Reason ?? `the migration answered ${JSON.stringify(said)}`);
}

/** In containers the emulator has another name than here: the one that it gives to its queues. */
function asFunctionsSee(endpoint: string, { resources }: Deployed): string {
  const queue = resources.find(({ type }) => type === "AWS::SQS::Queue");
  return queue === undefined ? endpoint : new URL(queue.physicalId).origin;
}
