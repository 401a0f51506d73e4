// Against a server that answers as ECS does: what is asked of it, and when. The calls' rights are held against the stack's roles by test/aws/iam.aws.ts.
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { createEcsWorkers } from "../../../shared/adapters/runtime/ecs.ts";
import { LONG_TASKS_PER_WORKER } from "../../../shared/core/limits.ts";
import { recordingLog } from "../../support/log.ts";

type Asked = Record<string, unknown>;
let server: Server;
const log = recordingLog();
/** The `lastStatus` of each task there is. */
let there: string[];
let asked: [operation: string, request: Asked][];
let started: Asked | number;
const before = { ...process.env };

beforeAll(async () => {
  server = createServer((request, response) => {
    let body = "";
    request.on("data", (part) => (body += part));
    request.on("end", () => {
      const operation = String(request.headers["x-amz-target"]).split(".").at(-1) ?? "";
      asked.push([operation, JSON.parse(body) as Asked]);
      const arns = there.map((_, i) => `arn:aws:ecs:us-east-1:1:task/c/${i}`);
      const answer = {
        ListTasks: { taskArns: arns },
        DescribeTasks: { tasks: arns.map((taskArn, i) => ({ taskArn, lastStatus: there[i] })) },
        RunTask: started,
      }[operation];
      response.setHeader("content-type", "application/x-amz-json-1.1");
      response.writeHead(typeof answer === "number" ? answer : 200).end(JSON.stringify(answer));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  Object.assign(process.env, {
    AWS_ENDPOINT_URL_ECS: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    AWS_REGION: "us-east-1",
    AWS_ACCESS_KEY_ID: "test",
    AWS_SECRET_ACCESS_KEY: "test",
    AWS_MAX_ATTEMPTS: "1",
  });
});
afterAll(async () => {
  process.env = before;
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});
beforeEach(() => {
  log.entries.length = 0;
  asked = [];
  there = [];
  started = { tasks: [{}], failures: [] };
});

const workers = (max = 3) =>
  createEcsWorkers({ cluster: "c", taskDefinition: "family", subnets: ["s1", "s2"], securityGroup: "g", max, log });
const runs = (): Asked[] => asked.flatMap(([operation, request]) => (operation === "RunTask" ? [request] : []));

describe("the first worker", () => {
  test("is started when none is there: of the family's newest revision, in the private subnets, under our name", async () => {
    await workers().first();
    // ECS: "When you specify startedBy as the filter, it must be the only filter that you use."
    expect(asked[0]).toEqual(["ListTasks", { cluster: "c", startedBy: "toren" }]);
    expect(runs()).toEqual([
      {
        cluster: "c",
        taskDefinition: "family",
        launchType: "FARGATE",
        count: 1,
        startedBy: "toren",
        clientToken: expect.stringMatching(/^[0-9a-f]{64}$/),
        networkConfiguration: {
          awsvpcConfiguration: { subnets: ["s1", "s2"], securityGroups: ["g"], assignPublicIp: "DISABLED" },
        },
      },
    ]);
  });

  test.each(["RUNNING", "PROVISIONING", "PENDING"])("isn't started beside one that is %s", async (status) => {
    there = [status];
    await workers().first();
    expect(asked.map(([operation]) => operation)).toEqual(["ListTasks", "DescribeTasks"]);
  });

  test("is asked for under one token by all who send long tasks at once: ECS starts one", async () => {
    const one = workers();
    await Promise.all([one.first(), one.first(), workers().first()]);
    const tokens = new Set(runs().map(({ clientToken }) => clientToken));
    expect(runs()).toHaveLength(3);
    expect(tokens.size).toBeLessThanOrEqual(2); // a minute may end in between
  });
});

describe("more workers", () => {
  test("are started for what waits although some are there, those that start already counted, up to the cap", async () => {
    there = ["RUNNING", "PENDING"];
    await workers(10).more(2 * LONG_TASKS_PER_WORKER + 1);
    expect(runs().map(({ count }) => count)).toEqual([2]);
    await workers(3).more(1_000 * LONG_TASKS_PER_WORKER);
    expect(runs().map(({ count }) => count)).toEqual([2, 1]);
    await workers(2).more(1);
    expect(runs()).toHaveLength(2);
  });

  test("are started as soon as the one that is there doesn't take what waits: it may be ending", async () => {
    there = ["RUNNING"];
    await workers().more(1);
    expect(runs().map(({ count }) => count)).toEqual([1]);
  });
});

describe("what ECS refuses is in the log, and nobody fails by it: the guardian tries again", () => {
  test("no capacity", async () => {
    started = { tasks: [], failures: [{ reason: "Capacity is unavailable at this time" }] };
    await workers().first();
    expect(log.entries).toMatchObject([
      { level: "error", what: "no worker for long tasks", fields: { reason: "Capacity is unavailable at this time" } },
    ]);
  });

  test("an error of its own", async () => {
    started = 500;
    await workers().first();
    expect(log.entries).toMatchObject([{ level: "error", what: "no worker for long tasks" }]);
  });
});
