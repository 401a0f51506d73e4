// The deployer on AWS, as a custom resource of CloudFormation: brings the schemas up, makes the functions' database users, registers the agents' code as
// generations (I7), keeps the first API key. It runs before the functions change, at every deployment and at every rollback of one.

import type { CloudFormationCustomResourceEvent, Context } from "aws-lambda";
import * as z from "zod";
import { messageOf, TorenError } from "../shared/core/errors.ts";
import {
  CLOUDFORMATION_WAIT_MS,
  MIGRATE_ANSWER_MS,
  MIGRATE_REASON_MAX_CHARS,
  MIGRATE_SECRET_TRIES,
} from "../shared/core/limits.ts";
import type { AgentDefinition } from "../shared/ports/agents.ts";
import type { Deployments } from "../shared/ports/deployments.ts";
import type { Keys } from "../shared/ports/keys.ts";
import type { Log } from "../shared/ports/log.ts";
import { failureFields } from "./failures.ts";

export interface MigrateDeps {
  /** Name and code hash are used. */
  readonly agents: readonly Pick<AgentDefinition, "name" | "codeHash">[];
  readonly log: Log;
  /** @throws TorenError `schema.newer` where a later version's schema stands already. */
  migrate(agents: readonly string[]): Promise<void>;
  ensureUsers(users: ReadonlyMap<string, number>): Promise<void>;
  readonly deployments: Pick<Deployments, "register">;
  readonly keys: Pick<Keys, "keep">;
  /** The installation's first key, made whole if it was just generated. */
  firstKey(): Promise<string>;
}

/** What CloudFormation hands on from the stack, as text. */
const properties = z.object({
  /** Database users with their limits of connections. */
  Users: z.record(z.string(), z.coerce.number()).default({}),
});

export const PHYSICAL_ID = "toren-migrate";
const FIRST_KEY_NAME = "first key";

/** The generation of the deployment: it changes whenever any agent's does. @throws what went wrong, for CloudFormation to show. */
export async function deploy(deps: MigrateDeps, resourceProperties: unknown): Promise<{ Generation: string }> {
  const { Users } = properties.parse(resourceProperties);
  const names = deps.agents.map((agent) => agent.name);
  try {
    await deps.migrate(names);
  } catch (e) {
    // A rollback to older code. Schemas only ever grow before they shrink, so the older code runs on the newer one.
    if (!(e instanceof TorenError) || e.code !== "schema.newer") throw e;
    deps.log.warn("schema kept as it is", failureFields(e));
  }
  await deps.ensureUsers(new Map(Object.entries(Users)));
  let sum = 0;
  for (const { name, codeHash } of deps.agents) {
    const generation = await deps.deployments.register(name, codeHash);
    deps.log.info("agent registered", { agent: name, generation });
    sum += generation;
  }
  await deps.keys.keep(await deps.firstKey(), FIRST_KEY_NAME);
  return { Generation: String(sum) };
}

/** Reads a secret of the stack's own, again and again: of a stack that is just being made, neither the way out nor the role's rights may be there yet. */
export async function patiently(
  read: () => Promise<string>,
  { log, sleep }: { readonly log: Log; sleep(ms: number): Promise<void> },
): Promise<string> {
  for (let tries = 1; ; tries++) {
    try {
      return await read();
    } catch (e) {
      log.warn("secret not read", { tries, ...failureFields(e) });
      if (tries === MIGRATE_SECRET_TRIES) throw e;
      await sleep(CLOUDFORMATION_WAIT_MS);
    }
  }
}

export interface Answer {
  readonly Status: "SUCCESS" | "FAILED";
  readonly Reason?: string;
  readonly PhysicalResourceId: string;
  readonly Data?: { readonly Generation: string };
}

/** Never rejects: whatever happens, CloudFormation hears of it within the invocation, and not an hour later. */
export async function answerOf(
  event: CloudFormationCustomResourceEvent,
  context: Pick<Context, "getRemainingTimeInMillis">,
  work: (properties: unknown) => Promise<{ Generation: string }>,
): Promise<Answer> {
  const PhysicalResourceId = PHYSICAL_ID;
  // What is deleted with the stack is the stack's to say; data never is by this.
  if (event.RequestType === "Delete") return { Status: "SUCCESS", PhysicalResourceId };
  const late = new AbortController();
  const tooLate = new Promise<never>((_, reject) => {
    const timer = setTimeout(
      () => reject(new Error("The migration didn't end in time. Its transaction was rolled back; deploy again.")),
      Math.max(0, context.getRemainingTimeInMillis() - MIGRATE_ANSWER_MS),
    );
    late.signal.addEventListener("abort", () => clearTimeout(timer));
  });
  try {
    const Data = await Promise.race([work(event.ResourceProperties), tooLate]);
    return { Status: "SUCCESS", PhysicalResourceId, Data };
  } catch (e) {
    const Reason = messageOf(e).slice(0, MIGRATE_REASON_MAX_CHARS);
    return { Status: "FAILED", PhysicalResourceId, Reason };
  } finally {
    late.abort();
  }
}
