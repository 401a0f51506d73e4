// Where files above 4 MiB lie: Lambda's answers hold 6.
import { Duration, RemovalPolicy } from "aws-cdk-lib";
import { BlockPublicAccess, Bucket, BucketEncryption, HttpMethods } from "aws-cdk-lib/aws-s3";
import { Construct } from "constructs";
import { acknowledge } from "./findings.ts";

/** Reached by presigned addresses. It stays when the installation goes, as the database's snapshot does. */
export class Files extends Construct {
  readonly bucket: Bucket;

  constructor(scope: Construct, id: string) {
    super(scope, id);
    this.bucket = new Bucket(this, "Bucket", {
      encryption: BucketEncryption.S3_MANAGED,
      blockPublicAccess: BlockPublicAccess.BLOCK_ALL,
      enforceSSL: true,
      minimumTLSVersion: 1.2,
      removalPolicy: RemovalPolicy.RETAIN,
      lifecycleRules: [
        { abortIncompleteMultipartUploadAfter: Duration.days(1) },
        // What was put there and never added.
        { prefix: "uploads/", expiration: Duration.days(1) },
      ],
      // A browser may use an address that it was given; without one CORS opens nothing.
      cors: [{ allowedMethods: [HttpMethods.GET, HttpMethods.PUT], allowedOrigins: ["*"], allowedHeaders: ["*"] }],
    });
    acknowledge(this.bucket, {
      "AwsSolutions-S1": "Who asked for which file is in the database; a second bucket for logs would say no more.",
    });
  }
}
