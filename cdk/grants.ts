// Who may do what: every right of functions and workers beyond their own log, in one place. Actions are those that the code calls, none beside.
import type { IRole } from "aws-cdk-lib/aws-iam";
import { allow } from "./allow.ts";
import type { Api } from "./api.ts";
import type { ModelRight } from "./bedrock.ts";
import type { DatabaseUserOf } from "./connections.ts";
import type { Database } from "./database.ts";
import type { Files } from "./files.ts";
import type { TorenFunction } from "./functions.ts";
import type { LongWork } from "./long-work.ts";
import type { Queues } from "./queues.ts";
import type { Secrets } from "./secrets.ts";
import type { Timers } from "./timers.ts";
import type { Workers } from "./workers.ts";

/** What an installation is made of. */
export interface Parts {
  readonly queues: Queues;
  readonly files: Files;
  readonly secrets: Secrets;
  readonly timers: Timers;
  readonly database: Database | null;
  readonly migrate: TorenFunction;
  readonly longWork: LongWork | null;
  readonly workers: Workers;
  readonly api: Api;
}

type Right = "send" | "timers" | "keys" | "models" | "start-workers" | "read-files" | "change-files" | "depths";

/** A role: which user of the database it is, and its rights. What queues feed it may read them by its event source. */
const RIGHTS: Readonly<Record<DatabaseUserOf, readonly Right[]>> = {
  tick: ["send", "timers", "keys", "start-workers"],
  task: ["send", "timers", "keys", "models", "start-workers", "read-files"],
  "long-task": ["send", "timers", "keys", "models", "read-files"],
  guardian: ["send", "keys", "start-workers"],
  "dead-letter": [],
  api: ["send", "keys", "change-files", "start-workers", "depths"],
  events: ["keys"],
};

export function giveRights(parts: Parts, models: readonly ModelRight[]): void {
  const { workers, api, longWork, database, secrets, queues, migrate } = parts;
  const roles: [DatabaseUserOf, IRole][] = [
    ["tick", workers.tick.role],
    ["task", workers.task.role],
    ["guardian", workers.guardian.role],
    ["dead-letter", workers.deadLetter.role],
    ["api", api.api.role],
    ["events", api.events.role],
    ...(longWork === null ? [] : [["long-task", longWork.role] as [DatabaseUserOf, IRole]]),
  ];
  for (const [user, role] of roles) {
    database?.grantConnect(role, user);
    for (const right of RIGHTS[user]) give(parts, role, right, models);
  }
  const { apiKey } = secrets;
  const master = database === null ? [] : [database.masterSecret.secretArn];
  allow(migrate.role, { actions: ["secretsmanager:GetSecretValue"], resources: [apiKey.secretArn, ...master] });
  allow(migrate.role, { actions: ["secretsmanager:PutSecretValue"], resources: [apiKey.secretArn] });
  // Whether long tasks wait that nobody takes.
  const { "tasks-long": long, "tasks-short": short } = queues.byName;
  allow(workers.guardian.role, { actions: ["sqs:GetQueueAttributes"], resources: [long.queueArn] });
  if (longWork !== null) {
    const from = longWork.onFargate ? [long, short] : [long];
    const actions = ["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:ChangeMessageVisibility"];
    allow(longWork.role, { actions, resources: from.map((queue) => queue.queueArn) });
  }
}

function give(parts: Parts, role: IRole, right: Right, models: readonly ModelRight[]): void {
  const { queues, timers, secrets, longWork, files } = parts;
  const objects = {
    resources: [files.bucket.arnForObjects("*")],
    why: "Files of all runs lie in this bucket, and nothing else.",
  };
  const sent = [...Object.values(queues.byName), queues.pulse].map((queue) => queue.queueArn);
  const rights: Readonly<Record<Right, () => void>> = {
    send: () => allow(role, { actions: ["sqs:SendMessage"], resources: sent }),
    depths: () =>
      allow(role, {
        actions: ["sqs:GetQueueAttributes"],
        resources: Object.values(queues.byName).map((queue) => queue.queueArn),
      }),
    timers: () => timers.grantSet(role),
    keys: () => allow(role, { actions: ["secretsmanager:GetSecretValue"], resources: [secrets.keys.secretArn] }),
    models: () => {
      for (const model of models) allow(role, model);
    },
    "start-workers": () => longWork?.grantStart(role),
    "read-files": () => allow(role, { actions: ["s3:GetObject"], ...objects }),
    "change-files": () => allow(role, { actions: ["s3:DeleteObject", "s3:GetObject", "s3:PutObject"], ...objects }),
  };
  rights[right]();
}
