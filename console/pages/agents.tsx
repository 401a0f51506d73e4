// The agents that this server works for: their processes, roles, models and tools.

import type { AgentJson } from "../../shared/http/agents.ts";
import { href } from "../model/route.ts";
import { shown } from "../model/text.ts";
import { Empty, Head, Panel } from "../parts/basics.tsx";
import { Icon } from "../parts/icon.tsx";
import { Loaded } from "../parts/loaded.tsx";
import { useAgents } from "../use-agents.ts";

const LIVE_MS = 5_000;

export function AgentsPage() {
  const none = (
    <Panel>
      <Empty icon="bot" title="No agent is served here">
        <p>
          An agent is a folder in <code>agents/</code> with an <code>agent.yaml</code>.
        </p>
      </Empty>
    </Panel>
  );
  return (
    <>
      <Head title="Agents" note="As they are deployed now. A generation is a version of an agent's code." />
      <div class="stack">
        <Loaded of={useAgents(LIVE_MS)} empty={{ when: (all) => all.length === 0, show: none }}>
          {(all) => all.map((agent) => <AgentPanel key={agent.name} agent={agent} />)}
        </Loaded>
      </div>
    </>
  );
}

const AgentPanel = ({ agent }: { readonly agent: AgentJson }) => (
  <Panel
    title={agent.name}
    end={
      <div class="row">
        <span class="badge word tone-none">generation {agent.generation}</span>
        <a class="button small" href={href("runs", null, { agent: agent.name })}>
          Runs
        </a>
        <a class="button small" href={href("start", null, { agent: agent.name })}>
          <Icon name="plus" /> Start
        </a>
      </div>
    }
  >
    <div class="body stack">
      <p class="soft">{shown(agent.description)}</p>
      {agent.processes.length > 1 || agent.sessions.length > 0 ? (
        <p class="row wrap small">
          {agent.processes.map((name) => (
            <span key={name} class="badge word tone-none">
              {agent.sessions.includes(name) ? `${name}: a conversation` : name}
            </span>
          ))}
        </p>
      ) : null}
      <div class="scroll-x">
        <table class="table inner">
          <thead>
            <tr>
              <th>Role</th>
              <th>Model</th>
              <th class="wide-only">Tools</th>
              <th class="right wide-only">Steps at most</th>
            </tr>
          </thead>
          <tbody>
            {agent.roles.map((role) => (
              <tr key={role.name}>
                <td>
                  <strong>{role.name}</strong>
                </td>
                <td class="mono small">{role.model}</td>
                <td class="mono small soft wide-only">{role.tools.join(", ") || "none"}</td>
                <td class="right wide-only">{role.maxSteps}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </div>
  </Panel>
);
