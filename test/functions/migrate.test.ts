import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { CloudFormationCustomResourceEvent } from "aws-lambda";
import { putAnswer } from "../../functions/cloudformation.ts";
import { answerOf, deploy, type MigrateDeps, PHYSICAL_ID, patiently } from "../../functions/migrate.ts";
import { createDeployments } from "../../shared/adapters/store/deployments.ts";
import { createKeys } from "../../shared/adapters/store/keys.ts";
import { migrate } from "../../shared/adapters/store/migrate.ts";
import { TorenError } from "../../shared/core/errors.ts";
import { CLOUDFORMATION_TRIES, MIGRATE_ANSWER_MS, MIGRATE_SECRET_TRIES } from "../../shared/core/limits.ts";
import { keyOf } from "../../shared/http/auth.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";
import { recordingLog, silentLog } from "../support/log.ts";

let db: TestDatabase;
beforeAll(async () => {
  db = await testDatabase();
});
afterAll(() => db.drop());

const event = (RequestType: string, ResponseURL = "http://127.0.0.1/"): CloudFormationCustomResourceEvent =>
  ({
    RequestType,
    ResponseURL,
    StackId: "stack",
    RequestId: "request",
    LogicalResourceId: "Migration",
    ResourceProperties: { Users: { toren_tick: "20" } },
  }) as unknown as CloudFormationCustomResourceEvent;
const context = (leftMs = 60_000) => ({ getRemainingTimeInMillis: () => leftMs });
const at = { log: silentLog, sleep: async () => {} };
const text = "0123456789abcdefghijABCDEFGHIJ01";

function deployer(codeHash: string, more: Partial<MigrateDeps> = {}): MigrateDeps & { readonly users: unknown[] } {
  const users: unknown[] = [];
  return {
    users,
    agents: [{ name: "crew", codeHash }],
    log: silentLog,
    migrate: (agents) => migrate(db.database, agents),
    ensureUsers: async (wanted) => void users.push(...wanted),
    deployments: createDeployments(db.database),
    keys: createKeys(db.database),
    firstKey: async () => keyOf(text),
    ...more,
  };
}
const answer = (of: CloudFormationCustomResourceEvent, deps: MigrateDeps) =>
  answerOf(of, context(), (properties) => deploy(deps, properties));

describe("the migration of a stack", () => {
  test("is one resource for ever, and its answer is another with other code, a roll-back's too", async () => {
    const first = await answer(event("Create"), deployer("one"));
    expect(first).toEqual({ Status: "SUCCESS", PhysicalResourceId: PHYSICAL_ID, Data: { Generation: "1" } });
    expect(await answer(event("Update"), deployer("two"))).toEqual({ ...first, Data: { Generation: "2" } });
    expect(await answer(event("Update"), deployer("one"))).toEqual({ ...first, Data: { Generation: "3" } });
    expect(await answer(event("Update"), deployer("one"))).toEqual({ ...first, Data: { Generation: "3" } });
  });

  test("makes the users that the stack names, and keeps the first key once", async () => {
    const deps = deployer("one");
    await answer(event("Update"), deps);
    await answer(event("Update"), deps);
    expect(deps.users).toEqual([
      ["toren_tick", 20],
      ["toren_tick", 20],
    ]);
    const { rows } = await db.database.pool.query("SELECT name FROM toren_control.api_keys");
    expect(rows).toEqual([{ name: "first key" }]);
  });

  test("does nothing when the stack goes", async () => {
    const untouched = async (): Promise<never> => {
      throw new Error("it was touched");
    };
    expect(await answerOf(event("Delete"), context(), untouched)).toEqual({
      Status: "SUCCESS",
      PhysicalResourceId: PHYSICAL_ID,
    });
  });

  test("leaves a schema that is newer than the code as it is: older code runs on it", async () => {
    const { pool } = db.database;
    await pool.query(
      "INSERT INTO toren_control.schema_versions (schema, version, name) VALUES ('agent_crew', 99, 'later')",
    );
    const log = recordingLog();
    expect(await answer(event("Update"), deployer("older", { log }))).toMatchObject({ Status: "SUCCESS" });
    expect(log.entries[0]).toMatchObject({ level: "warn", what: "schema kept as it is" });
    await pool.query("DELETE FROM toren_control.schema_versions WHERE version = 99");
  });

  test("says Postgres' own words where it fails, for CloudFormation to show, under the same id", async () => {
    const broken = deployer("x", { migrate: async () => void (await db.database.pool.query("SELECT 1 / 0")) });
    expect(await answer(event("Update"), broken)).toEqual({
      Status: "FAILED",
      PhysicalResourceId: PHYSICAL_ID,
      Reason: "division by zero",
    });
  });

  test("fails within its invocation when it takes too long, not an hour later", async () => {
    const never = () => new Promise<never>(() => {});
    expect(await answerOf(event("Create"), context(MIGRATE_ANSWER_MS + 20), never)).toMatchObject({
      Status: "FAILED",
      Reason: expect.stringContaining("deploy again"),
    });
  });
});

describe("a stack that is just being made has no way out yet", () => {
  test("CloudFormation is told again and again, at its own address", async () => {
    const heard: unknown[] = [];
    const server = createServer((request, response) => {
      let body = "";
      request.on("data", (part) => (body += part));
      request.on("end", () => {
        heard.push([request.method, request.headers["content-type"], JSON.parse(body)]);
        response.writeHead(heard.length < 3 ? 503 : 200).end();
      });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/answer`;
    await putAnswer(event("Create", url), { Status: "SUCCESS", PhysicalResourceId: PHYSICAL_ID }, at);
    await new Promise((resolve) => server.close(resolve));
    const ids = { StackId: "stack", RequestId: "request", LogicalResourceId: "Migration" };
    // Its address is signed for no content type.
    const told = ["PUT", "", { Status: "SUCCESS", PhysicalResourceId: PHYSICAL_ID, ...ids }];
    expect(heard).toEqual([told, told, told]);

    const log = recordingLog();
    await expect(
      putAnswer(event("Create", url), { Status: "SUCCESS", PhysicalResourceId: PHYSICAL_ID }, { ...at, log }),
    ).rejects.toThrow("CloudFormation couldn't be told");
    expect(log.entries).toHaveLength(CLOUDFORMATION_TRIES);
  });

  test("the stack's own secrets are asked for again and again, and the last refusal is what is said", async () => {
    let tries = 0;
    const from = (nth: number) => async () => {
      if (++tries < nth) throw new TorenError("secret.unavailable", "no way out yet");
      return "the secret";
    };
    expect(await patiently(from(3), at)).toBe("the secret");
    expect(tries).toBe(3);
    tries = 0;
    await expect(patiently(from(Number.POSITIVE_INFINITY), at)).rejects.toThrow("no way out yet");
    expect(tries).toBe(MIGRATE_SECRET_TRIES);
  });
});
