import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import { expect, test } from "@jest/globals";
import { createBeatSender } from "../../../shared/adapters/pulse/sqs.ts";
import { AWS_CALL_MS } from "../../../shared/core/limits.ts";
import { filesBelow } from "../../repo/files.ts";

test("whoever talks to AWS has a limit of time: its SDK has none of its own", () => {
  const clients = filesBelow("shared/adapters").flatMap(({ path, text }) =>
    path.endsWith(".ts")
      ? [...text.matchAll(/new (?:sdk\.)?\w+Client\(([^;]*)/g)].map(([, how = ""]) => [path, how])
      : [],
  );
  expect(clients.length).toBeGreaterThanOrEqual(8);
  const unbounded = clients.filter(([, how = ""]) => !/\bCALLS\b|OBJECT_CALLS|requestHandler/.test(how));
  expect(unbounded).toEqual([]);
});

test("a service that takes the connection and says nothing has failed after AWS_CALL_MS", async () => {
  const before = { ...process.env };
  const server = createServer(() => {});
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  Object.assign(process.env, {
    AWS_ENDPOINT_URL_SQS: url,
    AWS_REGION: "us-east-1",
    AWS_ACCESS_KEY_ID: "test",
    AWS_SECRET_ACCESS_KEY: "test",
    AWS_MAX_ATTEMPTS: "1",
  });
  const since = performance.now();
  await expect(createBeatSender(`${url}/1/pulse`)(1)).rejects.toMatchObject({ code: "queue.unavailable" });
  expect(performance.now() - since).toBeGreaterThanOrEqual(AWS_CALL_MS - 50);
  process.env = before;
  server.close();
}, 60_000);
