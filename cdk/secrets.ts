// The two secrets of an installation.
import { Secret } from "aws-cdk-lib/aws-secretsmanager";
import { Construct } from "constructs";
import { acknowledge } from "./findings.ts";

/** Letters and digits of a key before its checksum. */
const KEY_CHARS = 32;

export class Secrets extends Construct {
  /** Providers' keys, what agents list under `env`, and TOREN_ENCRYPTION_KEYS: one JSON object, which the user fills. */
  readonly keys: Secret;
  /** The first API key. CloudFormation makes it, migrate gives it its final form and keeps its hash. */
  readonly apiKey: Secret;

  constructor(scope: Construct, id: string) {
    super(scope, id);
    this.keys = new Secret(this, "Keys", {
      description: "Toren: keys of model providers, and values that agents list under env, as one JSON object",
      // Never change this: another template makes CloudFormation write the secret anew, over the user's keys.
      generateSecretString: { secretStringTemplate: "{}", generateStringKey: "unused", excludePunctuation: true },
    });
    this.apiKey = new Secret(this, "ApiKey", {
      description: "Toren: the first API key, with all rights",
      generateSecretString: { passwordLength: KEY_CHARS, excludePunctuation: true },
    });
    const reason = "Only its owner can rotate it: docs/how-to/rotate-keys.md says how.";
    for (const secret of [this.keys, this.apiKey]) acknowledge(secret, { "AwsSolutions-SMG4": reason });
  }
}
