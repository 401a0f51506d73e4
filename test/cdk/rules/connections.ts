import { describe, expect, test } from "@jest/globals";
import { DATABASE_USERS, type DatabaseUserOf, maxConnectionsOf, planConnections } from "../../../cdk/connections.ts";
import { DATABASE_CLASSES } from "../../../cdk/profile.ts";
import {
  FUNCTION_APPEND_CONNECTIONS,
  FUNCTION_POOL_CONNECTIONS,
  GUARDIAN_POOL_CONNECTIONS,
} from "../../../shared/core/limits.ts";
import { INSTALLATIONS, installation, ofType, only, property } from "../support.ts";

const sum = (numbers: readonly number[]): number => numbers.reduce((all, one) => all + one, 0);
const OF_ENVIRONMENT = FUNCTION_APPEND_CONNECTIONS + FUNCTION_POOL_CONNECTIONS;

describe.each([false, true])("connections, with workers on Fargate: %s", (onFargate) => {
  test.each(Object.entries(DATABASE_CLASSES))(
    "%s: two versions at once leave ten of the server's connections to people",
    (_, gib) => {
      const { limits, master, maxConnections } = planConnections(maxConnectionsOf(gib), onFargate);
      expect((sum(Object.values(limits)) + master) * 2).toBeLessThanOrEqual(maxConnections - 10);
      expect(Math.min(...Object.values(limits))).toBeGreaterThanOrEqual(2);
    },
  );

  test.each(Object.entries(DATABASE_CLASSES))("%s: no queue feeds more than its user may connect", (_, gib) => {
    const plan = planConnections(maxConnectionsOf(gib), onFargate);
    expect(plan.ticksAtOnce * OF_ENVIRONMENT).toBeLessThanOrEqual(plan.limits.tick);
    expect(plan.tasksAtOnce * OF_ENVIRONMENT + plan.soloAtOnce * 3).toBeLessThanOrEqual(plan.limits.task);
    expect(2 * GUARDIAN_POOL_CONNECTIONS).toBeLessThanOrEqual(plan.limits.guardian);
    expect(plan.longTasksMax * OF_ENVIRONMENT).toBeLessThanOrEqual(plan.limits["long-task"]);
  });
});

test("a server that takes too few is refused, with what to do", () => {
  expect(() => planConnections(60, false)).toThrow(/too small.*at least 120.*larger class/);
});

describe.each(Object.keys(INSTALLATIONS).filter((name) => !/database/.test(name)))("as deployed: %s", (name) => {
  const template = installation(name);

  test("migrate makes each user with a limit that two versions fit into, and the server takes all of them", () => {
    const users = property<Record<string, string>>(only(template, "Custom::TorenMigration"), "Users");
    expect(Object.keys(users).sort()).toEqual(Object.values(DATABASE_USERS).sort());
    const { max_connections } = property<Record<string, string>>(
      only(template, "AWS::RDS::DBParameterGroup"),
      "Parameters",
    );
    const plan = planConnections(Number(max_connections), /Fargate/.test(name));
    for (const [of, user] of Object.entries(DATABASE_USERS))
      expect([user, Number(users[user])]).toEqual([user, 2 * plan.limits[of as DatabaseUserOf]]);
    const all = sum(Object.values(users).map(Number)) + 2 * plan.master;
    expect(all).toBeLessThanOrEqual(Number(max_connections) - 10);
  });

  test("each function signs in as its own user, migrate as the master", () => {
    const signsIn = ofType(template, "AWS::Lambda::Function").map(([, { Properties }]) => {
      const { Variables } = Properties.Environment as { Variables: Record<string, unknown> };
      return Variables.TOREN_DB_USER;
    });
    const longTask = DATABASE_USERS["long-task"];
    const ofFunctions = Object.values(DATABASE_USERS).filter((user) => user !== longTask);
    expect(signsIn.sort()).toEqual([...ofFunctions, "toren_admin"].sort());
  });
});
