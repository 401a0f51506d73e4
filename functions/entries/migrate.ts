// The function that CloudFormation calls when the stack is made, changed or rolled back.
import type { CloudFormationCustomResourceEvent, Context } from "aws-lambda";
import { ensureUsers } from "../../shared/adapters/database/users.ts";
import { readSecret, writeSecret } from "../../shared/adapters/secrets/secrets-manager.ts";
import { createDeployments } from "../../shared/adapters/store/deployments.ts";
import { createKeys } from "../../shared/adapters/store/keys.ts";
import { migrate } from "../../shared/adapters/store/migrate.ts";
import { keyOf } from "../../shared/http/auth.ts";
import { withoutEnv } from "../agents.ts";
import { sleep } from "../aws.ts";
import { openAsMaster } from "../aws-database.ts";
import { masterPlace, required } from "../aws-environment.ts";
import { BUNDLED_AGENTS } from "../bundled-agents.ts";
import { putAnswer } from "../cloudformation.ts";
import { failureFields } from "../failures.ts";
import { createJsonLog } from "../log.ts";
import { type Answer, answerOf, deploy, patiently } from "../migrate.ts";

const log = createJsonLog({ function: "migrate" });
const read = (arn: string): Promise<string> => patiently(() => readSecret(arn), { log, sleep });

export async function handler(event: CloudFormationCustomResourceEvent, context: Context): Promise<Answer> {
  const answer = await answerOf(event, context, work);
  if (answer.Status === "FAILED") log.error("not migrated", { error: answer.Reason });
  await putAnswer(event, answer, { log, sleep });
  return answer;
}

async function work(properties: unknown): Promise<{ Generation: string }> {
  const database = await openAsMaster(process.env, read);
  try {
    return await deploy(
      {
        agents: BUNDLED_AGENTS.map(withoutEnv),
        log,
        migrate: (agents) => migrate(database, agents),
        // A database by its URL is its user's, users included.
        ensureUsers: async (users) =>
          masterPlace(process.env) === null ? undefined : await ensureUsers(database.pool, users),
        deployments: createDeployments(database),
        keys: createKeys(database),
        firstKey,
      },
      properties,
    );
  } finally {
    await database.close().catch((e) => log.warn("connections not closed", failureFields(e)));
  }
}

/** CloudFormation can make random text, but no checksum: the whole key is written back for whoever reads the secret. The same text is the same key. */
async function firstKey(): Promise<string> {
  const { arn } = required(process.env, "apiKey");
  const text = (await read(arn)).trim();
  const key = keyOf(text);
  if (key !== text) await writeSecret(arn, key);
  return key;
}
