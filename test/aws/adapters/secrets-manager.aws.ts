import { randomUUID } from "node:crypto";
import {
  CreateSecretCommand,
  DeleteSecretCommand,
  PutSecretValueCommand,
  SecretsManagerClient,
} from "@aws-sdk/client-secrets-manager";
import { afterAll, describe, expect, test } from "@jest/globals";
import { createSecretsManagerSecrets } from "../../../shared/adapters/secrets/secrets-manager.ts";
import { SECRET_KEEP_MS, SECRET_REREAD_MS } from "../../../shared/core/limits.ts";
import { GIVEN, secretsConformance } from "../../conformance/secrets.ts";

const client = new SecretsManagerClient({});
const made: string[] = [];
const create = async (SecretString: string): Promise<string> => {
  const { ARN } = await client.send(new CreateSecretCommand({ Name: `toren-${randomUUID()}`, SecretString }));
  if (ARN === undefined) throw new Error("the secret has no ARN");
  made.push(ARN);
  return ARN;
};
const put = (SecretId: string, SecretString: string) =>
  client.send(new PutSecretValueCommand({ SecretId, SecretString }));
const drop = (SecretId: string) => client.send(new DeleteSecretCommand({ SecretId, ForceDeleteWithoutRecovery: true }));
afterAll(async () => {
  for (const arn of made) await drop(arn);
});

secretsConformance("secrets in Secrets Manager", async () =>
  createSecretsManagerSecrets({ arn: await create(JSON.stringify(GIVEN)) }),
);

describe("secrets in Secrets Manager", () => {
  test("are kept for five minutes; a refused key has them read anew", async () => {
    let ms = 1_000_000;
    const arn = await create(JSON.stringify(GIVEN));
    const secrets = createSecretsManagerSecrets({ arn, now: () => ms });
    const first = await secrets.read();
    const rotated = { ...GIVEN, OPENAI_API_KEY: "sk-2" };
    await put(arn, JSON.stringify(rotated));
    expect(await secrets.read()).toEqual(GIVEN);
    ms += SECRET_REREAD_MS - 1;
    expect(await secrets.insteadOf(first)).toBeNull(); // looked a moment ago
    ms += 1;
    const answers = await Promise.all([secrets.insteadOf(first), secrets.insteadOf(first)]);
    expect(answers).toEqual([rotated, rotated]);
    expect(await secrets.insteadOf(first)).toEqual(rotated); // who is late doesn't ask again
    await put(arn, JSON.stringify(GIVEN));
    expect(await secrets.read()).toEqual(rotated);
    ms += SECRET_KEEP_MS;
    expect(await secrets.read()).toEqual(GIVEN);
  });

  test("that are gone while they are kept stop nobody", async () => {
    let ms = 1_000_000;
    const arn = await create(JSON.stringify(GIVEN));
    const secrets = createSecretsManagerSecrets({ arn, now: () => ms });
    await secrets.read();
    await put(arn, "no JSON");
    ms += SECRET_KEEP_MS;
    expect(await secrets.read()).toEqual(GIVEN);
    expect(await secrets.insteadOf(GIVEN)).toBeNull();
  });

  test.each([
    ["no JSON", "sk-secret"],
    ["no object", '["sk-secret"]'],
    ["no strings", '{"A": {"sk-secret": 1}}'],
  ])("that hold %s are named, and not shown", async (_, text) => {
    const arn = await create(text);
    const failure = createSecretsManagerSecrets({ arn }).read();
    await expect(failure).rejects.toMatchObject({
      code: "secret.unusable",
      message: expect.stringContaining(`${arn} is not a JSON object of strings`),
    });
    await expect(failure).rejects.toMatchObject({ message: expect.not.stringContaining("sk-secret") });
  });

  test("that don't exist are named", async () => {
    const arn = "arn:aws:secretsmanager:us-east-1:000000000000:secret:nowhere-AbCdEf";
    await expect(createSecretsManagerSecrets({ arn }).read()).rejects.toMatchObject({
      code: "secret.unusable",
      message: expect.stringContaining(arn),
    });
  });
});
