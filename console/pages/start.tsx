// Starting a run: which agent, which of its processes, what goes in, which files go with it.
import { useMemo, useState } from "preact/hooks";
import { bytes } from "../../local/terminal/units.ts";
import type { AgentJson } from "../../shared/http/agents.ts";
import { once, post, upload } from "../api.ts";
import type { Route } from "../model/route.ts";
import { shown } from "../model/text.ts";
import { say, useDoing } from "../parts/actions.tsx";
import { Empty, Failure, Head, Panel, Skeleton } from "../parts/basics.tsx";
import { Icon } from "../parts/icon.tsx";
import { useAgents } from "../use-agents.ts";
import { go } from "../use-route.ts";

export function StartPage({ route }: { readonly route: Route }) {
  const { value: agents, error, refresh } = useAgents();
  return (
    <>
      <Head title="Start a run" />
      {error === null ? null : <Failure error={error} retry={refresh} />}
      {agents === undefined && error === null ? <Skeleton /> : null}
      {agents?.length === 0 ? (
        <Panel>
          <Empty icon="bot" title="No agent is served here" />
        </Panel>
      ) : null}
      {agents !== undefined && agents.length > 0 ? <StartForm agents={agents} wanted={route.query} /> : null}
    </>
  );
}

interface FormProps {
  readonly agents: readonly AgentJson[];
  readonly wanted: Readonly<Record<string, string>>;
}

function StartForm({ agents, wanted }: FormProps) {
  const [name, setName] = useState(agents.find((a) => a.name === wanted.agent)?.name ?? agents[0]?.name ?? "");
  const [process, setProcess] = useState(wanted.process ?? "main");
  const [input, setInput] = useState("");
  const [asJson, setAsJson] = useState(false);
  const [files, setFiles] = useState<readonly File[]>([]);
  const [doing, run] = useDoing();
  const agent = agents.find((a) => a.name === name);
  const processes = agent?.processes ?? [];
  const chosen = processes.includes(process) ? process : (processes[0] ?? "main");
  // As long as nothing is changed: a second click, or a repetition after a lost answer, starts nothing twice.
  const key = useMemo(once, [name, chosen, input, asJson, files]);
  const isSession = agent?.sessions.includes(chosen) === true;
  const problem = asJson ? jsonProblem(input) : null;
  const submit = (event: Event): void => {
    event.preventDefault();
    void run(async () => {
      const ids: string[] = [];
      for (const file of files)
        ids.push((await upload<{ id: string }>(`files?name=${encodeURIComponent(file.name)}`, file)).id);
      const body = { agent: name, process: chosen, input: asJson ? JSON.parse(input) : input, files: ids };
      const { runId } = await post<{ runId: string }>("runs", body, key);
      say(`${name} is started.`);
      go(isSession ? "chat" : "runs", runId);
    });
  };
  return (
    <form class="panel start-form" onSubmit={submit}>
      <div class="body stack">
        <div class="field">
          <label for="agent">Agent</label>
          <select id="agent" class="input" value={name} onChange={(e) => setName(e.currentTarget.value)}>
            {agents.map((a) => (
              <option key={a.name}>{a.name}</option>
            ))}
          </select>
          <span class="hint">{shown(agent?.description ?? "")}</span>
        </div>
        {processes.length > 1 ? (
          <div class="field">
            <label for="process">Process</label>
            <select id="process" class="input" value={chosen} onChange={(e) => setProcess(e.currentTarget.value)}>
              {processes.map((p) => (
                <option key={p}>{p}</option>
              ))}
            </select>
          </div>
        ) : null}
        <InputField
          label={isSession ? "First message" : "Input"}
          text={input}
          asJson={asJson}
          problem={problem}
          onText={setInput}
          onJson={setAsJson}
        />
        <Files files={files} onChange={setFiles} />
        <div class="row">
          <button
            type="submit"
            class="button first"
            disabled={doing || problem !== null || (asJson && input.trim() === "")}
          >
            <Icon name={doing ? "spinner" : "play"} spin={doing} /> Start
          </button>
        </div>
      </div>
    </form>
  );
}

interface InputProps {
  readonly label: string;
  readonly text: string;
  readonly asJson: boolean;
  readonly problem: string | null;
  readonly onText: (text: string) => void;
  readonly onJson: (asJson: boolean) => void;
}

const InputField = ({ label, text, asJson, problem, onText, onJson }: InputProps) => (
  <div class="field">
    <label for="input">{label}</label>
    <textarea
      id="input"
      class={asJson ? "input mono" : "input"}
      rows={6}
      spellcheck={!asJson}
      aria-invalid={problem !== null}
      aria-describedby="input-hint"
      value={text}
      onInput={(e) => onText(e.currentTarget.value)}
    />
    <div class="row wrap">
      <label class="check small grow">
        <input type="checkbox" checked={asJson} onChange={(e) => onJson(e.currentTarget.checked)} /> it is JSON
      </label>
      <span id="input-hint" class={problem === null ? "hint" : "small bad"}>
        {problem ?? ""}
      </span>
    </div>
  </div>
);

function jsonProblem(text: string): string | null {
  if (text.trim() === "") return null;
  try {
    JSON.parse(text);
    return null;
  } catch (e) {
    return e instanceof Error ? shown(e.message) : "not JSON";
  }
}

function Files({
  files,
  onChange,
}: {
  readonly files: readonly File[];
  readonly onChange: (files: readonly File[]) => void;
}) {
  return (
    <div class="field">
      <label for="files">Files</label>
      <input
        id="files"
        class="input"
        type="file"
        multiple
        onChange={(e) => {
          onChange([...files, ...(e.currentTarget.files ?? [])]);
          e.currentTarget.value = "";
        }}
      />
      <ul>
        {files.map((file, i) => (
          <li key={`${file.name} ${i}`} class="row small">
            <Icon name="file" />
            <span class="grow cut">{shown(file.name)}</span>
            <span class="soft">{bytes(file.size)}</span>
            <button
              type="button"
              class="button plain small"
              aria-label={`Take ${file.name} off`}
              onClick={() => onChange(files.filter((f) => f !== file))}
            >
              <Icon name="cross" />
            </button>
          </li>
        ))}
      </ul>
    </div>
  );
}
