// Dead letters over the command line, on a real queue: what is sent again is worked on.
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import pg from "pg";
import { createScriptedModel } from "../../shared/adapters/model/script.ts";
import type { RunJson } from "../../shared/http/run-json.ts";
import { type Bench, createBench } from "./harness.ts";

let bench: Bench;
let pool: pg.Pool;
beforeAll(async () => {
  bench = await createBench();
  pool = new pg.Pool({ connectionString: bench.databaseUrl, max: 1 });
});
afterAll(async () => {
  await pool.end();
  await bench.close();
});

const dead = (id: string, body: unknown): Promise<unknown> =>
  pool.query(
    "INSERT INTO toren_control.dead_letters (message_id, queue, body, receive_count) VALUES ($1, 'ticks', $2, 5)",
    [id, JSON.stringify(body)],
  );

test("list, show, send again, drop", async () => {
  await bench.serve(
    createScriptedModel(() => "done"),
    { worker: false },
  );
  const { value } = await bench.json(["run", "echo", "x", "--detach"]);
  const { runId } = value as RunJson;
  await pool.query("DELETE FROM toren_control.queue_messages");
  expect(await bench.toren(["dead-letters", "list"])).toMatchObject({ status: 0, out: "", err: "No dead letters.\n" });
  await dead("m-1", { agent: "echo", runId, taskId: null });
  await dead("m-2", { note: "\u001b[31mnot ours" });
  const { out } = await bench.toren(["dead-letters", "list"]);
  expect(out.split("\n")).toEqual([
    expect.stringMatching(/^m-2 +ticks +\d+ s ago +\{"note":.*not ours"\}, received 5 times$/),
    expect.stringMatching(new RegExp(`^m-1 +ticks +\\d+ s ago +echo ${runId}, received 5 times$`)),
    "",
  ]);
  expect(out).not.toContain("\u001b[31m");
  expect((await bench.json(["dead-letters", "show", "m-1"])).value).toMatchObject({
    id: "m-1",
    body: { runId, taskId: null },
  });
  expect((await bench.toren(["dead-letters", "show", "m-1"])).out).toContain(`"runId": "${runId}"`);
  expect(await bench.json(["dead-letters", "send", "m-1"])).toEqual({ status: 0, value: { sent: ["m-1"] } });
  const { rows } = await pool.query("SELECT queue, body->>'runId' AS run FROM toren_control.queue_messages");
  expect(rows).toEqual([{ queue: "ticks", run: runId }]);
  expect(await bench.json(["dead-letters", "send", "m-2"])).toMatchObject({
    status: 2,
    value: { error: { code: "dead_letter.unreadable" } },
  });
  expect(await bench.json(["dead-letters", "send", "m-1"])).toMatchObject({
    status: 2,
    value: { error: { code: "dead_letter.unknown" } },
  });
  expect((await bench.toren(["dead-letters", "drop"])).status).toBe(2);
  await dead("m/3 ?", {});
  expect((await bench.json(["dead-letters", "list", "--limit", "1"])).value).toMatchObject({
    deadLetters: [{ id: "m/3 ?" }],
  });
  expect(await bench.json(["dead-letters", "drop", "m/3 ?"])).toEqual({ status: 0, value: { dropped: ["m/3 ?"] } });
  expect((await bench.toren(["dead-letters", "drop", "--all"])).err).toBe("m-2 has been dropped.\n");
  expect((await bench.json(["dead-letters", "list"])).value).toEqual({ deadLetters: [], next: null });
});
