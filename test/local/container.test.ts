// The Dockerfile and the Compose file, as far as they can be looked at without Docker: what they name is there, and what they start is a command.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { parse } from "yaml";
import { programFor } from "../../local/cli.ts";
import type { Context } from "../../local/commands/context.ts";
import { filesBelow, ROOT, read } from "../repo/files.ts";

interface Service {
  readonly image: string;
  readonly profiles: readonly string[];
  readonly command?: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly ports?: readonly string[];
  readonly volumes?: readonly string[];
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
}

const commands = programFor({ terminal: { env: {} } } as unknown as Context).commands.map((command) => command.name());
const dockerfile = read("Dockerfile");
const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, names = ""]) => names.split(" "));

describe("the Dockerfile", () => {
  test("copies what is there, and .dockerignore lets in just that", () => {
    expect(copied.filter((name) => !existsSync(join(ROOT, name)))).toEqual([]);
    const letIn = read(".dockerignore")
      .split("\n")
      .filter((line) => line.startsWith("!"));
    expect(letIn.map((line) => line.slice(1)).sort()).toEqual([...new Set(copied)].sort());
  });

  test("has all that the server's own code imports", () => {
    const outside = ["shared", "functions", "local"]
      .flatMap(filesBelow)
      .filter(({ path }) => /\.(ts|mjs)$/.test(path))
      .flatMap(({ path, text }) =>
        [...text.matchAll(/\b(?:from|import\()\s*"(\.[^"]+)"/g)].map(([, to = ""]) => join(path, "..", to)),
      )
      .filter((to) => !copied.includes(to.split("/")[0] ?? ""));
    expect(outside).toEqual([]);
  });

  test("starts a command of toren, as a user without rights, on all addresses", () => {
    const [, command = "", ...options] = [...(/^CMD \["(\w+)", "(--host)", "([\d.]+)"\]$/m.exec(dockerfile) ?? [])];
    expect(commands).toContain(command);
    expect(options).toEqual(["--host", "0.0.0.0"]);
    expect(dockerfile).toMatch(/^USER node$/m);
    expect(dockerfile).toMatch(/^FROM node:24-slim$/m);
  });
});

describe("the Compose file's profile `serve`", () => {
  const { services } = parse(read("compose.yaml"), { merge: true }) as { services: Record<string, Service> };
  const serving = Object.entries(services).filter(([, { profiles }]) => profiles.includes("serve"));

  test("is Postgres, a migration, then the server, each waiting for the one before", () => {
    expect(serving.map(([name]) => name)).toEqual(["postgres", "migrate", "toren"]);
    expect(services.postgres?.image).toBe("postgres:17");
    expect(services.migrate?.command).toEqual(["migrate"]);
    expect(services.migrate?.depends_on).toEqual({ postgres: { condition: "service_healthy" } });
    expect(services.toren?.depends_on).toEqual({
      postgres: { condition: "service_healthy" },
      migrate: { condition: "service_completed_successfully" },
    });
  });

  test("has no password of its own, and is reached from this machine alone", () => {
    expect(services.postgres?.environment.POSTGRES_PASSWORD).toMatch(/^\$\{POSTGRES_PASSWORD:\?/);
    expect(services.postgres?.ports).toBeUndefined();
    expect(services.toren?.ports).toEqual(["127.0.0.1:7400:7400"]);
    expect(services.toren?.environment.DATABASE_URL).toBe(services.migrate?.environment.DATABASE_URL);
  });
});
