// A guardian's look at schedules in a process of its own, to be killed: guardian-process.ts DATABASE_URL AGENT. It ends when nothing is due.
import { cronTimes } from "../../shared/adapters/cron/croner.ts";
import { openUrl } from "../../shared/adapters/database/url.ts";
import { createScriptedModel } from "../../shared/adapters/model/script.ts";
import { createSchedules } from "../../shared/adapters/store/schedules.ts";
import { fireSchedules } from "../../shared/engine/fire-schedules.ts";
import { agent, role, serving, workflow } from "../support/agents.ts";
import { createStack } from "../support/stack.ts";

const [url = "", name = ""] = process.argv.slice(2);
const database = await openUrl(url, { appends: 1, pool: 2 });
const agents = serving(
  agent(
    name,
    [role("r")],
    workflow(async () => "done"),
  ),
);
const { deps } = createStack({ database, agents, model: createScriptedModel(() => "said") });
while ((await fireSchedules({ ...deps, schedules: createSchedules(database), cron: cronTimes })).fired > 0);
process.exit();
