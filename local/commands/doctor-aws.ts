// toren doctor --aws: a deployed stack, looked at with your credentials of AWS: quota, keys, models, queues, the guardian, connections.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { masterKeysIn } from "../../shared/adapters/sealer/master-keys.ts";
import { createSecretsManagerSecrets } from "../../shared/adapters/secrets/secrets-manager.ts";
import { problemText } from "../../shared/authoring/problem.ts";
import { messageOf } from "../../shared/core/errors.ts";
import type { SecretValues } from "../../shared/ports/secrets.ts";
import { metricFindings, modelFindings, quotaFinding } from "../aws/checks.ts";
import { findInstallation, type Installation } from "../aws/installation.ts";
import { PROVIDER_VARIABLES } from "../client/models.ts";
import { loadAgents } from "../load/load-agents.ts";
import type { Finding } from "../terminal/finding.ts";
import type { Terminal } from "../terminal/terminal.ts";
import { counted } from "../terminal/units.ts";

/** Every model of the agents in the folder is asked once. @throws UsageError for a stack that can't be read. */
export async function examineAws(terminal: Terminal, stack: string, agents: string): Promise<Finding[]> {
  const installation = await findInstallation(stack);
  const { functions, queues } = installation;
  const whole = `${counted(functions.size, "function")}, ${counted(queues.size, "queue")}`;
  const [quota, metrics, { keys, values }] = await Promise.all([
    quotaFinding(),
    metricFindings(installation),
    readKeys(installation),
  ]);
  const encryption = values[SETTING] === undefined ? [] : [encryptionFinding(values)];
  return [
    { what: `stack ${stack}`, state: "ok", found: whole },
    quota,
    keys,
    ...encryption,
    ...(await agentFindings(terminal, agents, values)),
    ...metrics,
  ];
}

/** Names of what is in the secret, never what they are. */
async function readKeys({ keysSecret }: Installation): Promise<{ keys: Finding; values: SecretValues }> {
  const what = "keys";
  try {
    const values = await createSecretsManagerSecrets({ arn: keysSecret }).read();
    const names = Object.keys(values).filter((name) => name !== UNUSED);
    if (names.length > 0)
      return { values, keys: { what, state: "ok", found: `${names.sort().join(", ")} in ${keysSecret}` } };
    return { values, keys: { what, state: "note", found: `none in ${keysSecret}: models on Bedrock need none` } };
  } catch (e) {
    return { values: {}, keys: { what, state: "wrong", found: messageOf(e) } };
  }
}
const SETTING = "TOREN_ENCRYPTION_KEYS";

/** Whether they open what is there, only functions can tell: the database isn't reached from here. */
function encryptionFinding(values: SecretValues): Finding {
  try {
    const ids = masterKeysIn(values).map((key) => `"${key.id}"`);
    return { what: "encryption", state: "ok", found: `${SETTING} holds ${ids.join(", ")}; the first seals new runs` };
  } catch (e) {
    return { what: "encryption", state: "wrong", found: messageOf(e) };
  }
}

/** What CloudFormation had to generate in an empty secret. */
const UNUSED = "unused";

/** Agents with the installation's values for what they list under `env`, and their models with its keys; none of this machine's own. */
async function agentFindings(terminal: Terminal, folder: string, values: SecretValues): Promise<Finding[]> {
  const cacheFolder = await mkdtemp(join(tmpdir(), "toren-doctor-"));
  const { agents, problems } = await loadAgents(resolve(terminal.workingFolder, folder), { env: values, cacheFolder });
  await rm(cacheFolder, { recursive: true, force: true });
  const broken = problems.map(
    (p): Finding => ({ what: p.agent === "" ? "agents" : `agent ${p.agent}`, state: "wrong", found: problemText(p) }),
  );
  const models = new Set(agents.flatMap(({ roles }) => [...roles.values()].map(({ model }) => model)));
  const others = new Set<string>(PROVIDER_VARIABLES);
  const ours = Object.entries(terminal.env).filter(([name]) => name.startsWith("AWS_") && !others.has(name));
  return [...broken, ...(await modelFindings([...models].sort(), { ...Object.fromEntries(ours), ...values }))];
}
