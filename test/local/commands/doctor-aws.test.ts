// `toren doctor --aws` against servers that speak AWS' protocols: CloudFormation lists the resources of the real template.
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach, describe, expect, jest, test } from "@jest/globals";
import { type ModelServer, startModelServer } from "../../../local/model-server/server.ts";
import { installation, resourcesOf } from "../../cdk/support.ts";
import { type Bench, createBench } from "../harness.ts";

jest.setTimeout(60_000);

const ARN = "arn:aws:secretsmanager:us-east-1:123456789012:secret:Keys-abc";
const resources = Object.entries(resourcesOf(installation("as it comes")));
let bench: Bench;
let server: Server;
let models: ModelServer;
let url: string;
const before = { ...process.env };

/** How the installation is, as AWS answers it. */
let state: {
  concurrency: number;
  secret: Record<string, string>;
  ringing: readonly string[];
  guardianAgoMs: number;
  oldestS: number;
};
beforeEach(() => {
  state = {
    concurrency: 1_000,
    secret: { OPENAI_API_KEY: "sk-test", OPENAI_BASE_URL: models.url, unused: "generated" },
    ringing: [],
    guardianAgoMs: 20_000,
    oldestS: 0,
  };
});
beforeAll(async () => {
  models = await startModelServer({ port: 0, minLatencyMs: 0, maxLatencyMs: 0 });
  server = createServer((request, response) => {
    void answer(request).then(({ type, body }) => response.writeHead(200, { "content-type": type }).end(body));
  }).listen(0, "127.0.0.1");
  await new Promise((listening) => server.once("listening", listening));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  Object.assign(process.env, { AWS_REGION: "us-east-1", AWS_ACCESS_KEY_ID: "test", AWS_SECRET_ACCESS_KEY: "test" });
  for (const service of ["CLOUDFORMATION", "CLOUDWATCH", "LAMBDA", "SECRETS_MANAGER"])
    process.env[`AWS_ENDPOINT_URL_${service}`] = url;
  bench = await createBench();
  await bench.write(
    "ours/one/agent.yaml",
    "name: one\ndescription: d\nroles:\n  a: { system: s, model: openai/rule-based-1 }\n",
  );
});
afterAll(async () => {
  process.env = before;
  server.close();
  await models.close();
  await bench.close();
});

async function answer(request: IncomingMessage): Promise<{ type: string; body: string }> {
  let text = "";
  for await (const chunk of request) text += String(chunk);
  const json = (body: unknown) => ({ type: "application/x-amz-json-1.1", body: JSON.stringify(body) });
  if (request.url?.startsWith("/2016-08-19/account-settings") === true)
    return {
      type: "application/json",
      body: JSON.stringify({ AccountLimit: { ConcurrentExecutions: state.concurrency } }),
    };
  const target = String(request.headers["x-amz-target"] ?? "");
  if (target.endsWith("GetSecretValue")) return json({ ARN, SecretString: JSON.stringify(state.secret) });
  if (target.endsWith("DescribeAlarms"))
    return json({
      MetricAlarms: ["A rings.", "B rings."].map((AlarmDescription) => ({
        AlarmName: "name",
        AlarmDescription,
        StateValue: state.ringing.includes(AlarmDescription) ? "ALARM" : "OK",
      })),
    });
  if (target.endsWith("GetMetricData")) return json({ MetricDataResults: [series(text)] });
  if (text.includes("Action=ListStackResources")) return { type: "text/xml", body: listing() };
  throw new Error(`not asked for in this test: ${request.url} ${target}`);
}

function series(query: string): object {
  const at = (agoMs: number): number => (Date.now() - agoMs) / 1_000;
  if (query.includes("Invocations")) return { Timestamps: [at(state.guardianAgoMs)], Values: [1] };
  if (query.includes("DatabaseConnections")) return { Timestamps: [at(0), at(60_000)], Values: [12, 40] };
  if (query.includes("ApproximateAge")) return { Timestamps: [at(0)], Values: [state.oldestS] };
  return { Timestamps: [], Values: [] };
}

const listing = (): string =>
  `<ListStackResourcesResponse xmlns="http://cloudformation.amazonaws.com/doc/2010-05-15/"><ListStackResourcesResult><StackResourceSummaries>${resources
    .map(
      ([id, { Type }]) =>
        `<member><LogicalResourceId>${id}</LogicalResourceId><ResourceType>${Type}</ResourceType><PhysicalResourceId>${Type === "AWS::SecretsManager::Secret" ? ARN : `https://sqs.us-east-1.amazonaws.com/1/${id}`}</PhysicalResourceId></member>`,
    )
    .join("")}</StackResourceSummaries></ListStackResourcesResult></ListStackResourcesResponse>`;

interface Found {
  readonly ok: boolean;
  readonly findings: { readonly what: string; readonly state: string; readonly found: string }[];
}
const doctor = async (...more: string[]): Promise<{ status: number; value: Found }> =>
  await bench.json(["doctor", "--aws", "Toren", "--agents", "ours", ...more], process.env);
const of = ({ findings }: Found, what: string) => findings.find((finding) => finding.what === what);

describe("toren doctor --aws", () => {
  test("says of a stack that is well: quota, keys by name, each model asked once, queues, guardian, connections", async () => {
    const { status, value } = await doctor();
    expect(value.findings.filter((finding) => finding.state !== "ok")).toEqual([]);
    expect(of(value, "stack Toren")?.found).toBe("7 functions, 6 queues");
    expect(of(value, "lambda quota")?.found).toBe("1000 functions at once in this region");
    expect(of(value, "keys")?.found).toBe(`OPENAI_API_KEY, OPENAI_BASE_URL in ${ARN}`);
    expect(of(value, "model openai/rule-based-1")?.found).toMatch(/^answers in /);
    expect(of(value, "guardian")?.found).toMatch(/^its last pass succeeded 2\d(\.\d)? s ago/);
    expect(of(value, "queue tasks-short")?.found).toBe("empty");
    expect(of(value, "connections")?.found).toBe("12 now, 40 at most in half an hour");
    expect(JSON.stringify(value)).not.toContain("sk-test");
    expect([status, value.ok]).toEqual([0, true]);
  });

  test("says what is wrong, each in its line, and fails", async () => {
    state = {
      concurrency: 10,
      secret: { unused: "generated" },
      ringing: ["B rings."],
      guardianAgoMs: 600_000,
      oldestS: 1_800,
    };
    const { status, value } = await doctor();
    expect(of(value, "lambda quota")).toEqual({
      what: "lambda quota",
      state: "note",
      found: expect.stringContaining("ask AWS for 1,000"),
    });
    expect(of(value, "keys")).toMatchObject({ state: "note", found: `none in ${ARN}: models on Bedrock need none` });
    expect(of(value, "model openai/rule-based-1")).toMatchObject({
      state: "wrong",
      found: expect.stringContaining("OPENAI_API_KEY"),
    });
    expect(of(value, "alarms")).toMatchObject({ state: "wrong", found: "B rings." });
    expect(of(value, "guardian")).toMatchObject({ state: "wrong", found: expect.stringMatching(/10 min/) });
    expect(of(value, "queue ticks")).toMatchObject({
      state: "wrong",
      found: "the oldest message waits for 30 min 0 s",
    });
    expect([status, value.ok]).toEqual([1, false]);
  });

  test("a key of this machine is no key of the installation", async () => {
    state.secret = { unused: "generated" };
    const { value } = (await bench.json(["doctor", "--aws", "Toren", "--agents", "ours"], {
      ...process.env,
      OPENAI_API_KEY: "sk-mine",
      OPENAI_BASE_URL: models.url,
    })) as { value: Found };
    expect(of(value, "model openai/rule-based-1")?.state).toBe("wrong");
  });

  test("a stack that is none of ours is said to be none", async () => {
    const whole = resources.splice(0, resources.length - 3);
    const { status, err } = await bench.toren(["doctor", "--aws", "Other", "--agents", "ours"], { env: process.env });
    resources.unshift(...whole);
    expect([status, err]).toEqual([
      2,
      expect.stringContaining('The stack "Other" holds no whole installation of Toren.'),
    ]);
  });
});
