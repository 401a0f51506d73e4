// A question to a model, exactly as it went out, and what changed from the one before.
import { useState } from "preact/hooks";
import type { CallJson, RequestJson } from "../../shared/http/call-json.ts";
import { get } from "../api.ts";
import { type PartDiff, partText, requestDiff } from "../model/request-diff.ts";
import { readable, shown } from "../model/text.ts";
import { useQuery } from "../use-query.ts";
import { CopyButton, Failure, Skeleton, Text } from "./basics.tsx";
import { Icon } from "./icon.tsx";

interface Props {
  readonly runId: string;
  readonly stream: string;
  readonly seq: number;
  readonly view: "request" | "changes";
}

export function RequestView({ runId, stream, seq, view }: Props) {
  const taskId = stream.replace(/^task:/, "");
  const path = `runs/${runId}/tasks/${encodeURIComponent(taskId)}/calls/${seq}`;
  const { value, error, refresh } = useQuery(path, (signal) => get<CallJson>(path, {}, signal));
  if (value === undefined) return error === null ? <Skeleton lines={6} /> : <Failure error={error} retry={refresh} />;
  return (
    <div class="stack">
      <Exactness call={value} />
      {view === "request" ? <Whole call={value} /> : <Changes call={value} />}
    </div>
  );
}

function Exactness({ call }: { readonly call: CallJson }) {
  if (call.request === null)
    return (
      <div class="note wait-note">
        <Icon name="warn" />
        <p>This request can't be shown: what it began with wasn't kept, or its settings have changed since.</p>
      </div>
    );
  return (
    <p class="row small soft">
      <Icon name={call.exact ? "check" : "warn"} />
      <span class="grow">
        {call.exact
          ? "Exactly what was sent: its digest is the one on record."
          : "Derived from the log, and not certain to be what was sent: its digest differs from the one on record."}
      </span>
      <CopyButton text={readable(call.request)} what="request" />
    </p>
  );
}

function Whole({ call }: { readonly call: CallJson }) {
  const { request } = call;
  if (request === null) return null;
  const { model, maxTokens, options, outputSchema } = request;
  return (
    <div class="stack">
      <Fold title="System prompt" open>
        <Text text={request.system} prose />
      </Fold>
      <Fold title="Messages" count={request.messages.length + request.omitted} open>
        {request.omitted > 0 ? (
          <p class="small soft">The first {request.omitted} are left out for their size.</p>
        ) : null}
        <Messages messages={request.messages} />
      </Fold>
      <Fold title="Tools" count={request.tools.length}>
        {request.tools.map((tool) => (
          <div key={tool.name} class="stack tight">
            <h3 class="mono">{tool.name}</h3>
            <p class="small soft">{shown(tool.description)}</p>
            <Text text={readable(tool.inputSchema)} />
          </div>
        ))}
      </Fold>
      <Fold title="Settings">
        <Text text={readable({ model, maxTokens, options, outputSchema })} />
      </Fold>
    </div>
  );
}

function Fold(props: {
  readonly title: string;
  readonly count?: number;
  readonly open?: boolean;
  readonly children: preact.ComponentChildren;
}) {
  return (
    <details open={props.open ?? false}>
      <summary class="fold-title">
        {props.title} {props.count === undefined ? null : <span class="faint">{props.count}</span>}
      </summary>
      <div class="stack tight fold-body">{props.children}</div>
    </details>
  );
}

function Messages({ messages }: { readonly messages: RequestJson["messages"] }) {
  return (
    <ol>
      {messages.map((message, i) => (
        <li key={i} class="message">
          <div class="who">
            <Icon name={message.role === "user" ? "person" : "spark"} />
            {message.role}
          </div>
          {message.content.map((part, j) => (
            <Part key={j} part={part} />
          ))}
        </li>
      ))}
    </ol>
  );
}

const PART_NAMES: Readonly<Record<string, string>> = {
  toolUse: "calls a tool",
  toolResult: "result of a tool",
  media: "file",
  opaque: "reasoning",
};

function Part({ part }: { readonly part: Readonly<Record<string, unknown>> }) {
  const name = PART_NAMES[String(part.type)];
  return (
    <div class="stack tight">
      {name === undefined ? null : (
        <span class="tiny faint">
          {name} {part.isError === true ? <span class="bad">(an error)</span> : null}
        </span>
      )}
      <Text text={partText(part)} prose={part.type === "text"} />
    </div>
  );
}

function Changes({ call }: { readonly call: CallJson }) {
  const [all, setAll] = useState(false);
  if (call.previous === null)
    return <p class="soft">This was the first question of its task: there is nothing to compare it with.</p>;
  const parts = requestDiff(call);
  if (parts === null) return <p class="soft">One of the two requests can't be shown, so they can't be compared.</p>;
  const changed = parts.filter((part) => part.added + part.removed > 0);
  const shownParts = all ? parts : changed;
  return (
    <div class="stack">
      <div class="row small">
        <span class="grow">
          Compared with step <span class="mono">{call.previous.stepId}</span>, event {call.previous.seq}.
        </span>
        <label class="check">
          <input type="checkbox" checked={all} onChange={(e) => setAll(e.currentTarget.checked)} /> unchanged parts too
        </label>
      </div>
      {shownParts.length === 0 ? <p class="soft">Nothing differs but the place in the log.</p> : null}
      {shownParts.map((part) => (
        <Difference key={part.name} part={part} />
      ))}
    </div>
  );
}

const SIGNS = { same: " ", added: "+", removed: "−", skipped: "⋯" } as const;
const SPOKEN = { same: "", added: "added: ", removed: "removed: ", skipped: "" } as const;

const Difference = ({ part }: { readonly part: PartDiff }) => (
  <section class="stack tight">
    <h3 class="row">
      {part.name}
      <span class="tiny">
        <span class="tone-done">+{part.added}</span> <span class="tone-bad">−{part.removed}</span>
      </span>
    </h3>
    {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keys */}
    <section class="diff" tabIndex={0} aria-label={`Changes of ${part.name}`}>
      {part.lines.map((line, i) => (
        <div key={i} class={line.kind}>
          <span aria-hidden="true">{SIGNS[line.kind]}</span>
          <span>
            <span class="hidden">{SPOKEN[line.kind]}</span>
            {shown(line.text)}
          </span>
        </div>
      ))}
    </section>
  </section>
);
