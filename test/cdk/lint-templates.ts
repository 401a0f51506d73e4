// `node test/cdk/lint-templates.ts FOLDER`: the template of every kind of installation, a file each, for cfn-lint.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ASKING_AGENTS, INSTALLATIONS, installation, templateOf } from "./support.ts";

const [folder] = process.argv.slice(2);
if (folder === undefined) throw new Error("usage: node test/cdk/lint-templates.ts FOLDER");
mkdirSync(folder, { recursive: true });
const templates = {
  ...Object.fromEntries(Object.keys(INSTALLATIONS).map((name) => [name, installation(name)])),
  "agents that ask Bedrock": templateOf({ agents: ASKING_AGENTS }, "us-east-1"),
};
for (const [name, template] of Object.entries(templates))
  writeFileSync(join(folder, `${name.replaceAll(/\W+/g, "-")}.json`), JSON.stringify(template.toJSON(), null, 1));
console.log(`${Object.keys(templates).length} templates`);
