// Files from the command line to what a model is shown: a real server, engine and Postgres; only the model is scripted.
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { createScriptedModel } from "../../shared/adapters/model/script.ts";
import type { FileInfo } from "../../shared/ports/files.ts";
import { encryptedPdf, makePdf } from "../support/pdf.ts";
import { type Bench, createBench } from "./harness.ts";

const READER = `name: reader
description: Reads files.
roles:
  main: { model: mock/script, system: You read., tools: [list_files, search_files, read_file] }
`;
const KEEPER = `name: keeper
description: Waits for its user.
mode: session
roles:
  main: { model: mock/script, system: You wait. }
`;
/** Calls what the input names, once, and answers with what came back. */
const model = createScriptedModel((request) => {
  const [first, ...later] = request.messages;
  const results = later.flatMap((message) => (message.role === "user" ? message.content : []));
  if (results.length > 0) return JSON.stringify(results);
  const said = JSON.stringify(first);
  if (said.includes("locks")) return { tools: [{ name: "search_files", args: { query: "locks" } }] };
  if (said.includes("page 2")) return { tools: [{ name: "read_file", args: { file: "report.pdf", page: 2 } }] };
  return "here";
});

let bench: Bench;
const write = async (name: string, content: string | Uint8Array): Promise<string> => {
  const path = join(bench.folder, name);
  await writeFile(path, content);
  return path;
};
beforeAll(async () => {
  bench = await createBench();
  await bench.write("agents/reader/agent.yaml", READER);
  await bench.write("agents/keeper/agent.yaml", KEEPER);
  await write("report.pdf", makePdf([["Introduction"], ["Rows are locked", "with row locks."]]));
  await write("latin.csv", Buffer.from("name;m\xfcnz;locks\r\n", "latin1"));
  await bench.serve(model);
});
afterAll(() => bench.close());

const added = async (...paths: string[]): Promise<readonly FileInfo[]> => {
  const { status, value } = await bench.json(["files", "add", ...paths.map((path) => join(bench.folder, path))]);
  expect(status).toBe(0);
  return (value as { files: FileInfo[] }).files;
};
const output = async (...args: string[]): Promise<string> => {
  const { status, out, err } = await bench.toren(["run", "reader", ...args]);
  if (status !== 0) throw new Error(err);
  return out;
};

describe("toren files", () => {
  test("add keeps a file once, list shows it, rm removes it", async () => {
    const [pdf, csv] = await added("report.pdf", "latin.csv");
    expect(pdf).toMatchObject({ name: "report.pdf", mediaType: "application/pdf", pages: 2 });
    expect(csv).toMatchObject({ name: "latin.csv", mediaType: "text/csv", pages: null });
    expect((await added("report.pdf"))[0]?.id).toBe(pdf?.id);
    const { out } = await bench.toren(["files", "list"]);
    expect(out).toMatch(new RegExp(`^${pdf?.id} .*report\\.pdf .*application/pdf, 2 pages .*ago$`, "m"));
    const columns = out.split("\n").flatMap((line) => (line === "" ? [] : [line.search(/(application|text)\//)]));
    expect(new Set(columns).size).toBe(1);
    const removed = await bench.json(["files", "rm", `${csv?.id}`]);
    expect(removed).toEqual({ status: 0, value: { removed: [csv?.id] } });
    const again = await bench.toren(["files", "rm", `${csv?.id}`]);
    expect(again).toMatchObject({ status: 2, err: expect.stringContaining("not_found") });
    const { value } = await bench.json(["files", "list", "--limit", "1"]);
    expect(value).toMatchObject({ files: [{ id: pdf?.id, createdAt: expect.any(String) }], next: null });
  });

  test.each<[string, string | Uint8Array, string]>([
    ["empty.txt", "", "it is empty"],
    ["secret.pdf", encryptedPdf(), "encrypted: it can be opened with its password only"],
    ["broken.pdf", "%PDF-1.7 no more", "it is a PDF that is broken"],
    ["data.bin", Uint8Array.of(0, 1, 2, 3), "it is binary data"],
  ])("c20: %s is refused with the reason, nothing of it is kept, the server lives", async (name, content, reason) => {
    await write(name, content);
    const { status, err } = await bench.toren(["files", "add", join(bench.folder, name)]);
    expect([status, err]).toEqual([2, expect.stringContaining(reason)]);
    expect(err).toContain("file.unreadable");
    expect((await bench.toren(["files", "list", "--limit", "200"])).out).not.toContain(name);
  });

  test("what came before a refused file is kept, and said", async () => {
    await write("a.txt", "text");
    await write("none.txt", "");
    const { status, out, err } = await bench.toren([
      "files",
      "add",
      ...["a", "none"].map((n) => join(bench.folder, `${n}.txt`)),
    ]);
    expect([status, out]).toEqual([2, expect.stringContaining("a.txt")]);
    expect(err).toContain("1 file of 2 kept");
  });

  test("a file that a run under way has isn't removed", async () => {
    const [pdf] = await added("report.pdf");
    const started = await bench.json(["run", "keeper", "hello", "--files", `${pdf?.id}`]);
    const { runId } = started.value as { runId: string };
    const refused = await bench.toren(["files", "rm", `${pdf?.id}`]);
    expect(refused).toMatchObject({ status: 2, err: expect.stringContaining(runId) });
    expect((await bench.toren(["jobs", "send", runId, "--close"])).status).toBe(0);
    await bench.toren(["jobs", "tail", runId]);
    expect((await bench.toren(["files", "rm", `${pdf?.id}`])).status).toBe(0);
  });
});

describe("a model reads", () => {
  test("a PDF by page, attached by its path or its id", async () => {
    expect(await output("page 2", "--files", join(bench.folder, "report.pdf"))).toContain("report.pdf, page 2 of 2");
    const [pdf] = await added("report.pdf");
    expect(await output("page 2", "--files", `${pdf?.id}`)).toContain("Rows are locked");
  });

  test("hits of PDFs and Latin-1 texts, the page named", async () => {
    const args = ["report.pdf", "latin.csv"].flatMap((name) => ["--files", join(bench.folder, name)]);
    const found = (await output("locks", ...args)).replaceAll("\\", "");
    expect(found).toContain('"file":"report.pdf","line":2,"page":2,"text":"with row locks."');
    expect(found).toContain("name;münz;locks");
  });

  test("an id that no file has is told", async () => {
    const { status, err } = await bench.toren(["run", "reader", "x", "--files", `file_${"0".repeat(32)}`]);
    expect([status, err]).toEqual([2, expect.stringContaining("file.unknown")]);
  });
});
