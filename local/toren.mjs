#!/usr/bin/env node
// The `toren` command. Toren needs Node 24; where the node that runs this is older, the one that npm installed beside it takes over.
import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { constants } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const NODE_MAJOR_MIN = 24;
const cli = fileURLToPath(new URL("./cli.ts", import.meta.url));

if (Number.parseInt(process.versions.node, 10) >= NODE_MAJOR_MIN) {
  const { main } = await import("./cli.ts");
  await main();
} else {
  handOver(installedNode());
}

function installedNode() {
  const name = `node-${process.platform}-${process.arch}`;
  try {
    return join(dirname(createRequire(import.meta.url).resolve(`${name}/package.json`)), "bin", "node");
  } catch {
    console.error(
      `toren needs Node ${NODE_MAJOR_MIN} or newer; this is ${process.version}, and the optional dependency ${name} isn't installed. Run \`npm ci\` to its end, or install Node ${NODE_MAJOR_MIN}.`,
    );
    process.exit(2);
  }
}

function handOver(node) {
  const child = spawn(node, [cli, ...process.argv.slice(2)], { stdio: "inherit" });
  // A terminal's Ctrl-C reaches both; what is sent to this process alone is passed on.
  for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
  process.on("SIGINT", () => {});
  child.on("error", (error) => {
    console.error(`toren: ${node} doesn't start: ${error.message}`);
    process.exit(2);
  });
  child.on("exit", (code, signal) => process.exit(code ?? 128 + (constants.signals[signal] ?? 0)));
}
