// Over 300 lines: a list, read one entry at a time.
// Bugs that somebody once made, or nearly: each is planted into a copy of the tree, and a named test must see it. run.ts does it, planted.test.ts keeps
// the list from rotting.

export interface Bug {
  readonly name: string;
  readonly edits: readonly Edit[];
  readonly killedBy: { readonly file: string; readonly test: string };
}
/** `find` stands in the file exactly once. SQL is planted in the .sql file; queries.ts is made anew from it. */
export interface Edit {
  readonly file: string;
  readonly find: string;
  readonly replace: string;
}

const QUERIES = "shared/sql/queries";
const OVERLAP = "test/adapters/store/overlap.test.ts";
const STORE = "test/adapters/store/postgres.test.ts";
const GATES = "test/adapters/flow/overlap.test.ts";

const UNKNOWN_OUTCOME = "test/engine/unknown-outcome.test.ts";
const SIMULATION = "test/sim/simulation.test.ts";
const LIVE = "test/engine/live.test.ts";
const KEPT_CALLS = "test/engine/kept-calls.test.ts";
const SIGNALS = "test/core/workflow/signals.test.ts";
const KEEP_RUN = "test/engine/keep-run.test.ts";
const ACTS = "test/kill-matrix/acts.test.ts";
const REDACTION = "test/engine/redaction.test.ts";
const SEALED = "test/engine/sealed.test.ts";
const FORK = "test/engine/fork.test.ts";
const RETRY = "test/engine/retry.test.ts";
const CHILDREN = "test/engine/children.test.ts";
const FAMILY_CHANGES = "test/engine/family-changes.test.ts";
const FAMILY_COPIES = "test/engine/family-copies.test.ts";
const FAMILY_FORKS = "test/engine/family-forks.test.ts";
const CONTINUED = "test/core/workflow/continued.test.ts";
const CONTINUE = "test/engine/continue.test.ts";
const PROPERTIES = "test/core/workflow/properties.test.ts";
// biome-ignore lint/suspicious/noTemplateCurlyInString: code to be found
const PLACE = "const placeOf = (after: number, digest: string): string => `${after} ${digest}`;";

export const BUGS: readonly Bug[] = [
  {
    name: "a step of a run that went on anew has the key of the one before",
    edits: [
      {
        file: "shared/core/workflow/decide.ts",
        find: "...(part === 0 ? [] : [part])",
        replace: "...(part < 0 ? [part] : [])",
      },
    ],
    killedBy: { file: CONTINUED, test: "P1 P2: begins as a run does" },
  },
  {
    name: "a wave of a run that went on anew has the number of one before",
    edits: [
      {
        file: "shared/core/workflow/continued.ts",
        find: "nextWave: nextWave + waves",
        replace: "nextWave: nextWave + 0 * waves",
      },
    ],
    killedBy: { file: CONTINUED, test: "P2: a wave that needs nobody" },
  },
  {
    name: "signals that nobody waited for are gone when a run goes on anew",
    edits: [{ file: "shared/core/workflow/session.ts", find: "...[...this.#kept.values()].flat(), ", replace: "" }],
    killedBy: { file: CONTINUED, test: "go with it in the order in which they came" },
  },
  {
    name: "a signal that a wait would have had is gone when a run goes on anew",
    edits: [
      {
        file: "shared/core/workflow/session.ts",
        find: "return [...given, ...",
        replace: "return [...given.slice(given.length), ...",
      },
    ],
    killedBy: { file: CONTINUED, test: "and that a wait would have had" },
  },
  {
    name: "whoever shows what a run waits for doesn't know of signals that came before its part",
    edits: [
      {
        file: "shared/core/workflow/awaited.ts",
        find: "keptSignals({ begun: beginningOf(log) })",
        replace: "keptSignals({ begun: beginningOf(log) }).slice(0, 0)",
      },
    ],
    killedBy: { file: CONTINUED, test: "go with it in the order in which they came" },
  },
  {
    name: "what a workflow throws after ctx.continueAsNew is lost",
    edits: [
      {
        file: "shared/core/workflow/ending.ts",
        find: 'if (other.type === "RunFailed") return other;',
        replace: 'if (other.type === "RunFailed") return before;',
      },
    ],
    killedBy: { file: CONTINUED, test: "and throws" },
  },
  {
    name: "a workflow that goes on anew and returns a value goes on",
    edits: [
      {
        file: "shared/core/workflow/ending.ts",
        find: 'if (other.type === "RunCompleted" && other.output === null)',
        replace: 'if (other.type === "RunCompleted")',
      },
    ],
    killedBy: { file: CONTINUED, test: "and returns a value" },
  },
  {
    name: "parts that wait for nothing follow one another for ever",
    edits: [
      {
        file: "shared/core/workflow/continued.ts",
        find: "if (idle > CONTINUATIONS_IDLE_MAX)",
        replace: "if (idle > CONTINUATIONS_IDLE_MAX * 1e3)",
      },
    ],
    killedBy: { file: CONTINUED, test: "P5: parts that wait for nothing are few" },
  },
  {
    name: "an input that its workflow refuses is gone on with",
    edits: [
      {
        file: "shared/core/workflow/schedule.ts",
        find: "if (why !== null) throw",
        replace: 'if (why !== null && why === "") throw',
      },
    ],
    killedBy: { file: CONTINUED, test: "a refused input is an error" },
  },
  {
    name: "facts of a part before are absorbed again",
    edits: [
      {
        file: "shared/core/events.ts",
        find: 'e.type === "RunContinued" ? e.payload.absorbed : e.payload.inboxSeq',
        replace: "e.payload.inboxSeq",
      },
    ],
    killedBy: { file: CONTINUE, test: "signals that nobody has received stay there" },
  },
  {
    name: "a tick reads all of a run that went on anew",
    edits: [
      {
        file: "shared/engine/run-tick.ts",
        find: "deps.store.streams.read(streamOf(hint), lease.sealedSeq)",
        replace: "deps.store.streams.read(streamOf(hint), lease.sealedSeq * 0)",
      },
    ],
    killedBy: { file: CONTINUE, test: "50 times: each question is asked once" },
  },
  {
    name: "a run that goes on anew leaves its child be",
    edits: [
      {
        file: "shared/engine/let-go.ts",
        find: "children: [...new Set([...running, ...left])]",
        replace: "children: [...new Set([...left])]",
      },
    ],
    killedBy: { file: CONTINUE, test: "is stopped in the append that goes on" },
  },
  {
    name: "a run that goes on anew leaves be what an edit has dropped",
    edits: [
      {
        file: "shared/engine/let-go.ts",
        find: "tasks: [...new Set([...open, ...dropped])]",
        replace: "tasks: [...new Set([...open, ...dropped.slice(dropped.length)])]",
      },
    ],
    killedBy: { file: SIMULATION, test: "edits of a run that goes on anew" },
  },
  {
    name: "a fork of a run that went on anew reads all of it",
    edits: [
      {
        file: "shared/engine/fork-run.ts",
        find: "sealedSeq: before.begun.seq - 1,",
        replace: "sealedSeq: Math.min(0, before.begun.seq),",
      },
    ],
    killedBy: { file: CONTINUE, test: "a fork begins with the part that its source is in" },
  },
  {
    name: "what begins a part is sealed with the part before",
    edits: [
      {
        file: `${QUERIES}/append-full.sql`,
        find: "s.head_seq + k.n - 1 ELSE s.sealed_seq",
        replace: "s.head_seq + k.n ELSE s.sealed_seq",
      },
    ],
    killedBy: { file: STORE, test: "leaves the stream ready, its count of deaths at nought" },
  },
  {
    name: "a run that goes on anew tells nobody",
    edits: [
      {
        file: `${QUERIES}/append-full.sql`,
        find: "o.next = 'continue' JOIN locked l",
        replace: "o.next = 'nothing' JOIN locked l",
      },
    ],
    killedBy: { file: STORE, test: "stops the tasks that it names" },
  },
  {
    name: "a run that goes on anew stops what isn't its own",
    edits: [
      {
        file: `${QUERIES}/append-full.sql`,
        find: "WHERE x.run_id = w.run_id OR c.parent = w.run_id",
        replace: "WHERE x.run_id = w.run_id OR c.run_id IS NOT NULL",
      },
    ],
    killedBy: { file: STORE, test: "stops the children that it names" },
  },
  {
    name: "a run that goes on for ever takes no more signals at last",
    edits: [
      {
        file: `${QUERIES}/read-run.sql`,
        find: "(s.inbox_seq - s.sealed_facts)::int",
        replace: "(s.inbox_seq - 0 * s.sealed_facts)::int",
      },
    ],
    killedBy: { file: STORE, test: "what a run was told is counted from there on" },
  },
  {
    name: "what a tool gave back is forgotten among what is content",
    edits: [
      {
        file: "shared/core/content.ts",
        find: 'ToolCallCompleted: { content: ["result", "media"], clear: ["stepId", "toolUseId"] }',
        replace: 'ToolCallCompleted: { content: ["media"], clear: ["stepId", "toolUseId", "result"] }',
      },
    ],
    killedBy: { file: SEALED, test: "says nothing in any column of any table" },
  },
  {
    name: "words of a sealed input are what its run is found by",
    edits: [
      {
        file: "shared/adapters/store/runs.ts",
        find: "termsOf(key === null ? run.input : null, attributes)",
        replace: "termsOf(run.input, attributes)",
      },
    ],
    killedBy: { file: SEALED, test: "says nothing in any column of any table" },
  },
  {
    name: "a queue that is away, or a schema that isn't migrated yet, looks like a death",
    edits: [
      {
        file: "shared/core/errors.ts",
        find: 'thrown instanceof TorenError && ERRORS[thrown.code].reach === "invocation";',
        replace: 'thrown instanceof TorenError && thrown.code === "database.unavailable";',
      },
    ],
    killedBy: { file: "test/engine/run-rules.test.ts", test: "what fails this invocation alone is no death" },
  },
  {
    name: "a worker without the key fails its message again and again",
    edits: [
      {
        file: "shared/engine/take-stream.ts",
        find: "  if (problem === null) throw thrown;\n  await stepBack(deps, hint, problem);",
        replace:
          '  if (problem !== null) throw thrown;\n  await stepBack(deps, hint, { code: "bug", message: String(thrown) });',
      },
    ],
    killedBy: { file: SEALED, test: "I7: leaves the run as it is, acknowledges" },
  },
  {
    name: "who has no key tells a sealed run something in clear",
    edits: [
      {
        file: `${QUERIES}/deliver-fact.sql`,
        find: "AND NOT ($7::bool AND EXISTS",
        replace: "AND NOT ($7::bool AND false AND EXISTS",
      },
    ],
    killedBy: { file: "test/adapters/store/sealed.test.ts", test: "so nothing lands in clear" },
  },
  {
    name: "a fork has a key of its own, which opens nothing of what was copied",
    edits: [
      {
        file: `${QUERIES}/fork-run.sql`,
        find: "s.attributes, $2::uuid, s.data_key FROM source s",
        replace: "s.attributes, $2::uuid, replace(s.data_key, $2::text, $1::text) FROM source s",
      },
    ],
    killedBy: { file: SEALED, test: "its fork shares its key" },
  },
  {
    name: "totals lose what a stream counts after it was added the first time",
    edits: [
      {
        file: `${QUERIES}/count-streams.sql`,
        find: "count_at = CASE WHEN l.status = 'running' THEN clock_timestamp() END",
        replace: "count_at = NULL",
      },
    ],
    killedBy: { file: "test/adapters/store/totals.test.ts", test: "hold what streams counted" },
  },
  {
    name: "an erased run takes what it cost out of the totals",
    edits: [
      {
        file: `${QUERIES}/erase-runs.sql`,
        find: "JOIN erased e ON e.run_id = s.run_id WHERE s.count_at IS NOT NULL",
        replace: "JOIN erased e ON e.run_id = s.run_id WHERE s.count_at IS NULL",
      },
    ],
    killedBy: { file: "test/adapters/store/totals.test.ts", test: "of a run that is erased before anybody added it" },
  },
  {
    name: "answers of turns that were shown count as used again at every wake",
    edits: [
      {
        file: "shared/core/receipt.ts",
        find: 'type === "InputRequested"',
        replace: 'type === "InputRequested" && seq < 0',
      },
    ],
    killedBy: { file: "test/core/receipt.test.ts", test: "of what was shown before nothing is replayed" },
  },
  {
    name: "what a tool throws is recorded as it is",
    edits: [
      {
        file: "shared/engine/tool-call.ts",
        find: 'redactedText(deps.agent, messageOf(thrown), { kind: "toolError", name: tool.name });',
        replace: "{ ok: true, text: messageOf(thrown) } as const;",
      },
    ],
    killedBy: { file: REDACTION, test: "nothing that comes from outside is recorded, or shown to a model, as it came" },
  },
  {
    name: "a redaction that fails lets the value through",
    edits: [
      {
        file: "shared/engine/redact.ts",
        // biome-ignore lint/suspicious/noTemplateCurlyInString: code to be found
        find: 'return failed(`threw ${thrown instanceof Error ? `a ${thrown.name}` : "something"}`);',
        replace: "return { ok: true, value: thrown === null ? null : value };",
      },
    ],
    killedBy: { file: REDACTION, test: "has nothing recorded" },
  },
  {
    name: "a schedule that catches up is moved on past what it hasn't fired",
    edits: [
      {
        file: "shared/engine/fire-schedules.ts",
        find: "const after = fires[i + 1] ?? next;",
        replace: "const after = next;",
      },
    ],
    killedBy: { file: ACTS, test: "schedules: each time fires exactly once" },
  },
  {
    name: "a fork that is asked for again under its key is another one",
    edits: [
      {
        file: "shared/adapters/store/forks.ts",
        find: "  fork.idempotencyKey,\n  request,",
        replace: "  null,\n  request,",
      },
    ],
    killedBy: { file: ACTS, test: "a fork: one run, whole, and nothing on record is paid again" },
  },
  {
    name: "a fork makes calls again under the source's keys",
    edits: [
      {
        file: `${QUERIES}/fork-run.sql`,
        find: "CASE WHEN e.type IN ('ToolCallStarted', 'StepStarted')",
        replace: "CASE WHEN e.type IN ('NoSuchEvent')",
      },
    ],
    killedBy: {
      file: FORK,
      test: "a call that was under way is made by the fork under a key of its own",
    },
  },
  {
    name: "what an erased run was found by stays",
    edits: [
      {
        file: `${QUERIES}/erase-runs.sql`,
        find: "DELETE FROM :agent.run_terms t USING erased e WHERE t.run_id = e.run_id",
        replace: "SELECT 1",
      },
    ],
    killedBy: { file: ACTS, test: "an erasure: nothing of the run is left" },
  },
  {
    name: "a run that goes on is erased",
    edits: [
      {
        file: `${QUERIES}/erase-runs.sql`,
        find: "WHERE s.status = 'ended' AND r.ended_at IS NOT NULL\n",
        replace: "WHERE true\n",
      },
      {
        file: `${QUERIES}/erase-runs.sql`,
        find: "    AND NOT EXISTS (SELECT 1 FROM :agent.streams t WHERE t.run_id = r.run_id AND t.status <> 'ended')\n",
        replace: "",
      },
    ],
    killedBy: { file: "test/engine/erase.test.ts", test: "one run is erased by name, unless it goes on" },
  },
  {
    name: "a child that ends tells nobody",
    edits: [
      {
        file: `${QUERIES}/append-full.sql`,
        find: "FROM ok o JOIN :agent.runs r ON r.run_id = o.run_id JOIN locked l",
        replace: "FROM ok o JOIN :agent.runs r ON r.run_id = o.run_id AND r.root IS NULL JOIN locked l",
      },
    ],
    killedBy: { file: CHILDREN, test: "waits parked, and goes on with its output" },
  },
  {
    name: "a second news of a child has the key of its first",
    edits: [
      {
        file: `${QUERIES}/append-full.sql`,
        find: "'child:' || o.run_id || ':' || o.head",
        replace: "'child:' || o.run_id",
      },
    ],
    killedBy: { file: FAMILY_CHANGES, test: "of a parent has the child go on by which it failed" },
  },
  {
    name: "a run that ends leaves its children alone",
    edits: [
      {
        file: `${QUERIES}/append-full.sql`,
        find: "FROM ok o JOIN :agent.runs c ON c.parent = o.run_id JOIN locked l",
        replace: "FROM ok o JOIN :agent.runs c ON c.parent = o.run_id AND c.root IS NULL JOIN locked l",
      },
    ],
    killedBy: { file: CHILDREN, test: "goes down to what stands below" },
  },
  {
    name: "a child has its own budget",
    edits: [
      {
        file: `${QUERIES}/append-full.sql`,
        find: "coalesce(r.root, f.run_id) AS run_id",
        replace: "f.run_id AS run_id",
      },
    ],
    killedBy: { file: CHILDREN, test: "a budget is for a run and all below it" },
  },
  {
    name: "a child's process has no depth",
    edits: [
      {
        file: "shared/core/workflow/child.ts",
        find: "beginningOf(log).parent?.depth ?? 0",
        replace: "beginningOf(log).parent === undefined ? 0 : 1",
      },
    ],
    killedBy: { file: CHILDREN, test: "may run itself, down to the depth" },
  },
  {
    name: "a child that is taken over is waited for, and has ended",
    edits: [
      {
        file: "shared/engine/children.ts",
        find: ".filter(({ seq, run }) => seq < (retry?.seq ?? 0) || run !== childRunId(runId, seq))",
        replace: ".filter(({ seq }) => seq < (retry?.seq ?? 0))",
      },
    ],
    killedBy: { file: FAMILY_CHANGES, test: "keeps children that are still asked for" },
  },
  {
    name: "an edit drops a paid child without a word",
    edits: [
      {
        file: "shared/engine/plan-round.ts",
        find: "left.children.length === 0 ? [] : await children.unrepeatable",
        replace: "left.children.length < 99 ? [] : await children.unrepeatable",
      },
    ],
    killedBy: { file: FAMILY_CHANGES, test: "that drops a child which has done what can't be done twice asks" },
  },
  {
    name: "a child of before the retry is waited for in vain",
    edits: [
      {
        file: "shared/engine/children.ts",
        find: ".filter(({ seq, run }) => seq < (retry?.seq ?? 0) || run !== childRunId(runId, seq))",
        replace: ".filter(({ seq, run }) => run !== childRunId(runId, seq))",
      },
    ],
    killedBy: { file: FAMILY_CHANGES, test: "a retry hears of a child that ended when its parent had failed" },
  },
  {
    name: "a child is retried while its parent has heard of its end",
    edits: [
      { file: "shared/engine/retry-run.ts", find: "if (row.parent !== null)", replace: 'if (row.parent === "")' },
    ],
    killedBy: { file: FAMILY_CHANGES, test: "of a parent has the child go on by which it failed" },
  },
  {
    name: "a fork waits for its source's child",
    edits: [
      {
        file: "shared/engine/reopen.ts",
        find: "const absent = starts.filter((start) => !there.has(start.run));",
        replace: "const absent = starts.filter((start) => there.has(start.run) && start.seq < 0);",
      },
    ],
    killedBy: { file: FAMILY_COPIES, test: "a fork has the answers of children that ended" },
  },
  {
    name: "a fork asks again about its source's children",
    edits: [
      {
        file: "shared/core/workflow/inherited.ts",
        find: "return !this.#foreign.has(run) || this.ends.has(run);",
        replace: 'return run !== "";',
      },
    ],
    killedBy: { file: FAMILY_FORKS, test: "who forks is asked once" },
  },
  {
    name: "a fork under edited code pays its source's children again",
    edits: [
      {
        file: "shared/engine/plan-round.ts",
        find: "([, end]) => !isCancelled(end)",
        replace: "([, end]) => isCancelled(end)",
      },
    ],
    killedBy: { file: FAMILY_FORKS, test: "a fork under edited code takes over answers" },
  },
  {
    name: "a fork begins a child that its code doesn't ask for",
    edits: [
      {
        file: "shared/engine/reopen.ts",
        find: "asked === null ? absent : absent.filter(",
        replace: "asked !== undefined ? absent : [].filter(",
      },
    ],
    killedBy: { file: FAMILY_FORKS, test: "begins none in its place" },
  },
  {
    name: "a run is erased without its children",
    edits: [
      {
        file: `${QUERIES}/erase-runs.sql`,
        find: "FROM gone g JOIN :agent.runs c ON c.root = g.run_id WHERE",
        replace: "FROM gone g JOIN :agent.runs c ON c.root = g.run_id AND c.parent IS NULL WHERE",
      },
    ],
    killedBy: { file: FAMILY_COPIES, test: "a run is erased with its children" },
  },
  {
    name: "a schedule fires though it was changed meanwhile",
    edits: [
      {
        file: `${QUERIES}/fire-schedule.sql`,
        find: "schedule_id = $1::uuid AND next_at = to_timestamp($2::float8 / 1000) AND next_at <= clock_timestamp() FOR UPDATE",
        replace: "schedule_id = $1::uuid AND $2::float8 IS NOT NULL FOR UPDATE",
      },
    ],
    killedBy: { file: "test/engine/schedules.test.ts", test: "paused or changed while somebody is about to fire it" },
  },
  {
    name: "a key for one agent sees another's runs",
    edits: [
      {
        file: "shared/http/runs.ts",
        find: 'agent === null || !maySee(c.get("caller"), agent)',
        replace: "agent === null",
      },
    ],
    killedBy: { file: "test/http/access.test.ts", test: "a key that is for another agent" },
  },
  {
    name: "cost of a day is added to that of the day before",
    edits: [
      {
        file: `${QUERIES}/append-one.sql`,
        find: "s.paid_day IS DISTINCT FROM (clock_timestamp() AT TIME ZONE 'UTC')::date THEN 0",
        replace: "s.paid_day IS NULL THEN 0",
      },
    ],
    killedBy: { file: "test/adapters/store/tally.test.ts", test: "what was paid today" },
  },
  {
    name: "a wave that goes on after a retry has told its run already",
    edits: [
      {
        file: `${QUERIES}/reopen.sql`,
        find: "SET unsettled = v.unsettled + r.k, signalled = false,",
        replace: "SET unsettled = v.unsettled + r.k,",
      },
    ],
    killedBy: { file: RETRY, test: "goes on, and its siblings' answers are free" },
  },
  {
    name: "a wave's second bell has the key of its first",
    edits: [
      {
        file: `${QUERIES}/append-full.sql`,
        find: "'wave:' || r.wave || CASE WHEN r.reopened > 0 THEN ':' || r.reopened ELSE '' END",
        replace: "'wave:' || r.wave",
      },
    ],
    killedBy: { file: RETRY, test: "fails again: the run fails again" },
  },
  {
    name: "a cancel of before the retry holds",
    edits: [
      {
        file: "shared/engine/absorb.ts",
        find: "const stale = seq <= (work.history().retry?.upTo ?? 0);",
        replace: "const stale = false;",
      },
    ],
    killedBy: { file: RETRY, test: "a cancel of before the retry is void" },
  },
  {
    name: "tasks that were stopped with a failed run stay stopped after its retry",
    edits: [
      {
        file: "shared/engine/run-tick.ts",
        find: "  await reopenPending(work, () => advanceOnce(work, execution));\n",
        replace: "",
      },
    ],
    killedBy: { file: RETRY, test: "a task of another wave, stopped when the run failed, goes on" },
  },
  {
    name: "a plain append doesn't look at the epoch",
    edits: [
      {
        file: `${QUERIES}/append-plain.sql`,
        find: "s.head_seq = w.head AND s.lease_epoch = w.epoch AND s.lease_owner IS NOT NULL",
        replace: "s.head_seq = w.head AND s.lease_owner IS NOT NULL",
      },
      {
        file: `${QUERIES}/append-one.sql`,
        find: "s.head_seq = $3::bigint AND s.lease_epoch = $4::bigint AND s.lease_owner IS NOT NULL",
        replace: "s.head_seq = $3::bigint AND $4::bigint IS NOT NULL AND s.lease_owner IS NOT NULL",
      },
    ],
    killedBy: { file: STORE, test: "I12: a zombie whose head is the heir's is refused by its epoch alone" },
  },
  {
    name: "a full append doesn't look at the epoch",
    edits: [
      {
        file: `${QUERIES}/append-full.sql`,
        find: "l.head_seq = w.head AND l.lease_epoch = w.epoch AND l.lease_owner IS NOT NULL",
        replace: "l.head_seq = w.head AND l.lease_owner IS NOT NULL",
      },
    ],
    killedBy: { file: STORE, test: "I12: a zombie whose head is the heir's is refused by its epoch alone" },
  },
  {
    name: "a park doesn't look at the inbox",
    edits: [
      {
        file: `${QUERIES}/append-full.sql`,
        find: "coalesce(o.next = 'park' AND o.inbox_seq = o.absorbed AND p.posts IS NULL, false) AS parks",
        replace: "coalesce(o.next = 'park', false) AS parks",
      },
    ],
    killedBy: { file: STORE, test: "I10: a park is refused when a fact came meanwhile" },
  },
  {
    name: "events are joined by their stream instead of their item",
    edits: [
      {
        file: `${QUERIES}/append-plain.sql`,
        find: `($10::text[])[m.before + i], $11::jsonb -> (m.before + i - 1)
  FROM moved m, generate_series(1, m.n) AS i`,
        replace: `($10::text[])[w.before + i], $11::jsonb -> (w.before + i - 1)
  FROM want w JOIN moved m ON m.run_id = w.run_id AND m.stream_id = w.stream_id, generate_series(1, w.n) AS i`,
      },
    ],
    killedBy: { file: "test/adapters/store/one-batch.test.ts", test: "I12: a zombie in one batch with its heir" },
  },
  {
    name: "row locks are taken in any order",
    edits: [
      {
        file: `${QUERIES}/append-full.sql`,
        find: "  ORDER BY s.run_id, s.stream_id FOR UPDATE OF s",
        replace: "  ORDER BY random() FOR UPDATE OF s",
      },
    ],
    killedBy: { file: "test/adapters/store/contention.test.ts", test: "workers with overlapping batches: no deadlock" },
  },
  {
    name: "facts are numbered by counting them",
    edits: [
      {
        file: `${QUERIES}/deliver-fact.sql`,
        find: "SELECT $1::uuid, $2::text, m.inbox_seq, $3::text, $4::text, $5::jsonb FROM moved m",
        replace: `SELECT $1::uuid, $2::text, (SELECT count(*) + 1 FROM :agent.inbox i WHERE i.run_id = $1::uuid AND i.stream_id = $2::text),
         $3::text, $4::text, $5::jsonb FROM moved m`,
      },
    ],
    killedBy: { file: STORE, test: "I3: concurrent facts have numbers without a gap" },
  },
  {
    name: "the cursor starts where the inbox ends, not where the log has absorbed it",
    edits: [
      {
        file: "shared/engine/run-tick.ts",
        find: "createStreamWriter(deps, lease, lease.head, inboxCursor(raw))",
        replace: "createStreamWriter(deps, lease, lease.head, lease.inboxSeq)",
      },
    ],
    killedBy: { file: "test/engine/run.test.ts", test: "waves in parallel, then a writer" },
  },
  {
    name: "whether a task was its wave's last is looked up beside the statement's own writes",
    edits: [
      {
        file: `${QUERIES}/append-full.sql`,
        find: "FROM ripe r WHERE NOT signalled AND (left_over = 0 OR broke)",
        replace: `FROM ripe r WHERE NOT signalled AND (broke OR NOT EXISTS (
    SELECT 1 FROM :agent.streams o WHERE o.run_id = r.run_id AND o.wave = r.wave AND o.status <> 'ended'
      AND NOT EXISTS (SELECT 1 FROM ok k WHERE k.run_id = o.run_id AND k.stream_id = o.stream_id AND k.next = 'end')))`,
      },
    ],
    killedBy: { file: OVERLAP, test: "the last two tasks of a wave" },
  },
  {
    name: "operations are matched by their place in a window, as plain positions would",
    edits: [
      {
        file: "shared/core/workflow/session.ts",
        find: PLACE,
        replace: `${PLACE.slice(0, PLACE.indexOf("=>"))}=> \`\${after}\`;`,
      },
    ],
    killedBy: { file: PROPERTIES, test: "no prefix of a log is contradicted by its own code" },
  },
  {
    name: "operations are matched without their window",
    edits: [
      {
        file: "shared/core/workflow/session.ts",
        find: PLACE,
        replace: `${PLACE.slice(0, PLACE.indexOf("=>"))}=> digest;`,
      },
    ],
    killedBy: {
      file: "test/core/workflow/edits.test.ts",
      test: "a read more in an early window leaves the later ones their values",
    },
  },
  {
    name: "leases are renewed by the worker's clock",
    edits: [
      {
        file: `${QUERIES}/renew.sql`,
        find: "SET lease_until = clock_timestamp() + $6::int * interval '1 ms'",
        replace: "SET lease_until = to_timestamp($6::float8 / 1000)",
      },
      {
        file: "shared/adapters/store/streams.ts",
        find: "renew: (leases, leaseMs) => renew(statements, leases, leaseMs),",
        replace: "renew: (leases, leaseMs) => renew(statements, leases, Date.now() + leaseMs),",
      },
    ],
    killedBy: { file: "test/adapters/store/clock.test.ts", test: "I8: holds what it renews" },
  },
  {
    name: "a lease that runs out while its taker waits for the row is still held",
    edits: [
      {
        file: `${QUERIES}/acquire.sql`,
        find: "s.lease_until < clock_timestamp()",
        replace: "s.lease_until < now()",
      },
    ],
    killedBy: { file: "test/adapters/store/clock.test.ts", test: "I8: takes the lease that ran out meanwhile" },
  },
  {
    name: "a lease counts from the time when its taker began to wait for the row",
    edits: [
      {
        file: `${QUERIES}/acquire.sql`,
        find: "lease_until = clock_timestamp() + $4::int",
        replace: "lease_until = now() + $4::int",
      },
    ],
    killedBy: { file: "test/adapters/store/clock.test.ts", test: "I8: holds it for its whole length from then on" },
  },
  {
    name: "a cut of a task drops facts",
    edits: [
      {
        file: "shared/core/task/replay.ts",
        find: 'log.filter((e) => e.seq < event.fromSeq || ("inboxSeq" in e && !TERMINAL.has(e.type)))',
        replace: "log.filter((e) => e.seq < event.fromSeq)",
      },
    ],
    killedBy: { file: "test/core/task/replay.test.ts", test: "I6: facts survive a cut" },
  },
  {
    name: "a cut of a run drops facts",
    edits: [
      {
        file: "shared/core/workflow/fold.ts",
        find: "const kept = log.filter((event) => !dead.has(event.seq)",
        replace: "const kept = log.filter((event) => event.seq < fromSeq && !dead.has(event.seq)",
      },
    ],
    killedBy: { file: "test/core/workflow/fold.test.ts", test: "S5: a cut removes operations" },
  },
  {
    name: "an effect's key comes from the id that the model gave its call",
    edits: [
      {
        file: "shared/engine/task-steps.ts",
        find: "idempotencyKey(work.hint.runId, work.hint.taskId, work.state, use.name, use.args)",
        // biome-ignore lint/suspicious/noTemplateCurlyInString: code to be planted
        replace: "`${work.hint.runId} ${work.hint.taskId} ${use.id}`",
      },
    ],
    killedBy: {
      file: "test/kill-matrix/changes.test.ts",
      test: "the writer's prompt edited while its second call is in flight undisturbed",
    },
  },
  {
    name: "an answer is recorded after its tools ran",
    edits: [
      {
        file: "shared/engine/task-steps.ts",
        find: "  await writer.flush(); // the answer, what is asked of people, and its calls' starts: one append (I4)\n",
        replace: "",
      },
    ],
    killedBy: { file: "test/engine/appends.test.ts", test: "a step with one tool call: exactly two more" },
  },
  {
    name: "results are sent in the order of the log",
    edits: [
      {
        file: "shared/core/task/state.ts",
        find: "  const results = state.phase.calls.flatMap((c) =>",
        replace:
          "  const calls = state.phase.calls as Call[];\n  calls.push(...calls.splice(calls.indexOf(call), 1));\n  const results = calls.flatMap((c) =>",
      },
    ],
    killedBy: { file: "test/engine/run.test.ts", test: "tools run, and their results reach the model in call order" },
  },
  {
    name: "the storm limit counts cuts of every generation",
    edits: [
      {
        file: "shared/engine/cut-storm.ts",
        find: "      e.generation === generation &&\n",
        replace: "",
      },
    ],
    killedBy: { file: "test/engine/cut-storm.test.ts", test: "I7: an edit's cuts are its own" },
  },
  {
    name: "a run that is being created doesn't hold its files",
    edits: [{ file: `${QUERIES}/create-run.sql`, find: " FOR KEY SHARE\n), files", replace: "\n), files" }],
    killedBy: {
      file: "test/adapters/files/postgres.test.ts",
      test: "a run that is being created at the same time keeps its file",
    },
  },
  {
    name: "a file is removed under a run that hasn't ended",
    edits: [{ file: `${QUERIES}/find-file-use.sql`, find: "r.ended_at IS NULL", replace: "r.ended_at IS NOT NULL" }],
    killedBy: { file: "test/adapters/files/postgres.test.ts", test: "waits for the end of the last of them" },
  },
  {
    name: "what a PDF unfolds into isn't watched",
    edits: [
      {
        file: "shared/adapters/files/pdf.ts",
        find: "if (process.memoryUsage.rss()",
        replace: "if (0 * process.memoryUsage.rss()",
      },
    ],
    killedBy: { file: "test/adapters/files/pdf.test.ts", test: "I11: what unfolds into gigabytes is stopped" },
  },
  {
    name: "an empty file is let in",
    edits: [
      {
        file: "shared/engine/add-file.ts",
        find: '  if (content.byteLength === 0) throw refused("it is empty");\n',
        replace: "",
      },
    ],
    killedBy: { file: "test/engine/add-file.test.ts", test: "is refused with the reason, and nothing is stored" },
  },
  {
    name: "two waves of one tick claim the same task",
    edits: [
      {
        file: "shared/core/workflow/plan.ts",
        find: "    for (const id of ids) if (id !== null) taken.add(id);\n",
        replace: "",
      },
    ],
    killedBy: { file: "test/core/workflow/plan.test.ts", test: "two waves of one tick don't claim the same task" },
  },
  {
    name: "a fact that is there already is passed over without undoing its number",
    edits: [
      {
        file: `${QUERIES}/deliver-fact.sql`,
        find: "SELECT $1::uuid, $2::text, m.inbox_seq, $3::text, $4::text, $5::jsonb FROM moved m",
        replace:
          "SELECT $1::uuid, $2::text, m.inbox_seq, $3::text, $4::text, $5::jsonb FROM moved m ON CONFLICT DO NOTHING",
      },
    ],
    killedBy: { file: OVERLAP, test: "I3: twins of a fact" },
  },
  {
    name: "whether a call needs approval is asked again after a restart",
    edits: [{ file: "shared/engine/task-approvals.ts", find: "  if (call.approval === null) {", replace: "  {" }],
    killedBy: { file: "test/engine/people.test.ts", test: "c6: whether a call needs approval is decided once" },
  },
  {
    name: "one decision allows all equal calls",
    edits: [
      {
        file: "shared/core/task/state.ts",
        find: "    if (!state.asked.has(key)) return key;",
        replace: "    return key;",
      },
    ],
    killedBy: { file: "test/engine/people.test.ts", test: "two equal calls of one answer are two to decide about" },
  },
  {
    name: "a session forgets between two turns what people were asked",
    edits: [
      {
        file: "shared/core/task/snapshot.ts",
        find: "    asked: new Set(kept.asked),\n",
        replace: "",
      },
    ],
    killedBy: { file: "test/core/task/snapshot.test.ts", test: "it knows what people were asked" },
  },
  {
    name: "an edit is the way around the question about an unknown outcome",
    edits: [
      {
        file: "shared/engine/run-task.ts",
        find: 'onUnknownOutcome === "retry" ? cut.calls : [...cut.calls, ...cut.begun]',
        replace: 'onUnknownOutcome === "retry" || cut.begun ? cut.calls : []',
      },
    ],
    killedBy: { file: UNKNOWN_OUTCOME, test: "I6b: an edit doesn't do it again behind everybody's back" },
  },
  {
    name: "a model that thinks before its summary is cut before its first word",
    edits: [
      {
        file: "shared/core/task/compaction.ts",
        find: "Math.max(answer, Math.min(maxTokens, left));",
        replace: "Math.min(answer, maxTokens, left);",
      },
    ],
    killedBy: { file: "test/core/task/compaction.test.ts", test: "is asked for with room to think" },
  },
  {
    name: "what a provider refused and charged for is forgotten when it is asked again",
    edits: [
      {
        file: "shared/adapters/model/ask-legally.ts",
        find: "{ ...response, usage: addUsage(before, response.usage) }",
        replace: "response",
      },
    ],
    killedBy: {
      file: "test/adapters/model/openai-failed-answers.test.ts",
      test: "what one has cost that was asked again without a file",
    },
  },
  {
    name: "a thinking budget goes out into the middle of another model's turn",
    edits: [
      {
        file: "shared/adapters/model/anthropic/request.ts",
        find: "return first === undefined || isThinkingBlock(first.content[0]);",
        replace: "return first === undefined || first.content.length > 0;",
      },
    ],
    killedBy: { file: "test/adapters/model/any-log.test.ts", test: "asks next what every provider takes" },
  },
  {
    name: "what a model was told after a pause isn't in what its thinking was written after",
    edits: [
      {
        file: "shared/adapters/model/anthropic/turns.ts",
        find: "      close();\n      thinkingFits",
        replace: "      thinkingFits",
      },
    ],
    killedBy: {
      file: "test/adapters/model/anthropic-paused.test.ts",
      test: "keeps what the next thinking was written after",
    },
  },
  {
    name: "a thinking budget goes out with an answer that may not be longer",
    edits: [
      {
        file: "shared/adapters/model/anthropic/request.ts",
        find: "thinking.budget_tokens >= maxTokens ||",
        replace: "thinking.budget_tokens > maxTokens ||",
      },
    ],
    killedBy: {
      file: "test/adapters/model/anthropic-history.test.ts",
      test: "is asked for, and left out where the answer may not be longer",
    },
  },
  {
    name: "a choice of tools goes out without tools",
    edits: [
      {
        file: "shared/adapters/model/anthropic/request.ts",
        find: "if (tools.length === 0) return {};",
        replace: "if (tools.length === 0) return choice === undefined ? {} : { tool_choice: choice };",
      },
    ],
    killedBy: {
      file: "test/adapters/model/anthropic-history.test.ts",
      test: "without any tools has no choice of them",
    },
  },
  {
    name: "what a failed call cost isn't in a run's books",
    edits: [
      {
        file: "shared/core/receipt.ts",
        find: "{ ...count({ unanswered: 1 }), ...spentOf(payload) }",
        replace: "count({ unanswered: 1 })",
      },
    ],
    killedBy: {
      file: "test/engine/budgets.test.ts",
      test: "a call that failed after its provider had counted is paid",
    },
  },
  {
    name: "what a failed call cost doesn't count against a cap",
    edits: [
      {
        file: "shared/core/task/ledger.ts",
        find: "event.usage ?? NO_USAGE",
        replace: 'event.type === "LlmCallFailed" ? NO_USAGE : event.usage',
      },
    ],
    killedBy: { file: "test/engine/budgets.test.ts", test: "failed calls that were paid reach the cap" },
  },
  {
    name: "summaries that are too long are asked for again and again",
    edits: [
      {
        file: "shared/core/task/compaction.ts",
        find: "  if (state.folds >= FOLDS_IN_A_ROW_MAX)",
        replace: "  if (state.folds > 1_000 * FOLDS_IN_A_ROW_MAX)",
      },
    ],
    killedBy: {
      file: "test/core/task/compaction.test.ts",
      test: "a model whose summaries are longer than they may be is not asked for them in a circle",
    },
  },
  {
    name: "turns that a person was shown are held against today's prompt",
    edits: [{ file: "shared/core/task/replay.ts", find: "      event.seq > sealedUpTo &&\n", replace: "" }],
    killedBy: {
      file: "test/engine/sessions.test.ts",
      test: "I6a: editing the prompt under a parked session costs nothing",
    },
  },
  {
    name: "a decision to keep what is recorded seals nothing",
    edits: [
      {
        file: "shared/core/task/replay.ts",
        find: ' || (e.type === "CutDecided" && e.decision === "keep")',
        replace: "",
      },
    ],
    killedBy: { file: "test/engine/people.test.ts", test: "seals what is recorded; the new prompt asks from there" },
  },
  {
    name: "a budget's reservations of one batch don't see one another",
    edits: [
      {
        file: `${QUERIES}/append-full.sql`,
        find: "WINDOW before AS (PARTITION BY p.run_id ORDER BY p.ord)",
        replace: "WINDOW before AS (PARTITION BY p.run_id, p.ord ORDER BY p.ord)",
      },
    ],
    killedBy: { file: STORE, test: "N parallel tasks never pass the cap" },
  },
  {
    name: "what was held for a call that is sent again is forgotten",
    edits: [{ file: "shared/engine/ask-step.ts", find: "keep: state.ledger.open !== null", replace: "keep: false" }],
    killedBy: { file: "test/engine/budgets.test.ts", test: "a call that was begun and never answered counts as spent" },
  },
  {
    name: "a stream that ends keeps what it has reserved",
    edits: [
      {
        file: `${QUERIES}/append-full.sql`,
        find: "OR (f.next = 'end' AND (f.old_tokens > 0 OR f.old_nano > 0))",
        replace: "",
      },
    ],
    killedBy: {
      file: STORE,
      test: "a reservation that fits is held, a payment takes its place, and an end holds nothing",
    },
  },
  {
    name: "a session ends whatever was said to it meanwhile",
    edits: [
      {
        file: `${QUERIES}/append-full.sql`,
        find: "AND (f.next <> 'end' OR f.absorbed IS NULL OR f.absorbed = f.inbox_seq)",
        replace: "",
      },
    ],
    killedBy: { file: STORE, test: "a session's end is refused whole when a fact came meanwhile" },
  },
  {
    name: "a summary parts a call from its result",
    edits: [
      {
        file: "shared/core/task/compaction.ts",
        find: 'if (next === undefined || next.role === "assistant" || next.content.every((p) => p.type !== "toolResult")) return n;',
        replace: "return next === undefined ? n : n;",
      },
    ],
    killedBy: { file: "test/core/task/compaction.test.ts", test: "I6: of any log with compaction" },
  },
  {
    name: "a summary that was paid is asked for again after a death",
    edits: [
      {
        file: "shared/core/task/replay.ts",
        find: "        state.summaries.set(summaryAsked, summaryText(event.response));",
        replace: "        state.summaries.delete(summaryAsked + summaryText(event.response));",
      },
      {
        file: "shared/core/task/answers.ts",
        find: "else state.summaries.set(digest, summaryText(response));",
        replace: "else if (state.summaries.size === 0) state.summaries.set(digest, summaryText(response));",
      },
    ],
    killedBy: { file: "test/core/task/compaction.test.ts", test: "an input over the window is summarised in parts" },
  },
  {
    name: "an answer that the provider makes already has to fit the cap once more",
    edits: [
      {
        file: "shared/core/task/loop.ts",
        find: "  if (acceptedAs(state, ask.digest) !== null) return",
        replace: "  if (acceptedAs(state, ask.digest) === ask.digest) return",
      },
    ],
    killedBy: { file: "test/core/task/loop.test.ts", test: "an answer that the provider makes already is fetched" },
  },
  {
    name: "a call that the provider kept is sent again",
    edits: [
      {
        file: "shared/engine/ask-step.ts",
        find: "const reattach = acceptedAs(state, ask.digest);",
        replace: "const reattach = state.steps < 0 ? acceptedAs(state, ask.digest) : null;",
      },
    ],
    killedBy: { file: KEPT_CALLS, test: "I5: the call is fetched by whoever takes over" },
  },
  {
    name: "an outage while a kept answer is fetched ends its call",
    edits: [
      {
        file: "shared/core/task/state.ts",
        find: 'event.type !== "LlmCallFailed" || !event.goesOn',
        replace: 'event.type !== "LlmCallFailed" || !event.goesOn || event.retryAt !== undefined',
      },
    ],
    killedBy: { file: KEPT_CALLS, test: "for long: it parks, and what was reserved for it stays so" },
  },
  {
    name: "a kept answer that can't be fetched gives back what was reserved for it",
    edits: [
      {
        file: "shared/engine/ask-step.ts",
        find: "  if (!goesOn) settle(work, before);",
        replace: "  settle(work, before);",
      },
    ],
    killedBy: { file: KEPT_CALLS, test: "for long: it parks, and what was reserved for it stays so" },
  },
  {
    name: "that a log has grown is said though nobody watches",
    edits: [
      {
        file: "shared/adapters/live/postgres.ts",
        find: "if (!isWatched(runId) || grown.has(runId)) return;",
        replace: "if (grown.has(runId)) return;",
      },
    ],
    killedBy: { file: "test/adapters/live/postgres.test.ts", test: "a log that grows makes no statement" },
  },
  {
    name: "a reader of server-sent events reads on at its next look only",
    edits: [
      {
        file: "shared/http/event-streams.ts",
        find: "pieces.push, () => look.abort()",
        replace: "pieces.push, () => {}",
      },
    ],
    killedBy: { file: "test/http/event-streams.test.ts", test: "read as soon as it is said to be there" },
  },
  {
    name: "pieces of an answer are sent though nobody watches",
    edits: [
      {
        file: "shared/adapters/live/postgres.ts",
        find: "[...calls].filter((call) => call.due && isWatched(call.runId))",
        replace: "[...calls].filter((call) => call.due)",
      },
      {
        file: "shared/adapters/live/postgres.ts",
        find: "          if (isWatched(runId)) batches.soon();",
        replace: "          batches.soon();",
      },
    ],
    killedBy: { file: LIVE, test: "an answer of ten thousand pieces makes as many statements" },
  },
  {
    name: "a watcher hears a dead worker out",
    edits: [
      {
        file: "local/client/live-text.ts",
        find: "if (heard !== undefined && isOlder({ call, attempt }, heard)) return;",
        replace: "if (heard !== undefined && heard.call === call && attempt < heard.attempt) return;",
      },
      {
        file: "local/client/live-text.ts",
        find: "if (heard === undefined || isOlder(heard, { call, attempt })) {",
        replace: "if (heard === undefined || heard.call !== call || heard.attempt !== attempt) {",
      },
    ],
    killedBy: { file: LIVE, test: "I9: sees it begin anew when the worker died" },
  },
  {
    name: "what was said while a turn ended is forgotten",
    edits: [
      {
        file: "shared/core/task/session.ts",
        find: "[...session.steering.splice(0), ...session.mail.splice(0)]",
        replace: "[...session.steering.splice(0), ...session.mail.splice(0).slice(1)]",
      },
    ],
    killedBy: { file: SIMULATION, test: "a conversation" },
  },
  {
    name: "a call that waits for somebody runs as soon as it is looked at again",
    edits: [
      {
        file: "shared/engine/task-approvals.ts",
        find: '  if (decision === undefined) return { type: "waiting" };',
        replace:
          '  if (decision === undefined) return { type: work.at.solo || state.attempts > 1 ? "granted" : "waiting" };',
      },
      {
        file: "shared/engine/task-approvals.ts",
        find: "function decisionUnder({ state }: TaskWork, key: string): Approval {",
        replace: "function decisionUnder(work: TaskWork, key: string): Approval {\n  const { state } = work;",
      },
    ],
    killedBy: { file: SIMULATION, test: "calls that somebody allows or not" },
  },
  {
    name: "a call whose worker died runs again though its role asks",
    edits: [
      {
        file: "shared/engine/task-approvals.ts",
        find: '  if (work.role.onUnknownOutcome !== "ask") return null;',
        replace: '  if (work.role.onUnknownOutcome !== "ask" || asking !== "") return null;',
      },
    ],
    killedBy: { file: SIMULATION, test: "calls whose worker may have died, and somebody says" },
  },
  {
    name: "a cut of a task is made whatever it would repeat",
    edits: [
      {
        file: "shared/engine/run-task.ts",
        find: "if (calls.length > 0 && !mayCut(log, fromSeq, generation)) {",
        replace: "if (calls.length > 99 && !mayCut(log, fromSeq, generation)) {",
      },
    ],
    killedBy: { file: SIMULATION, test: "an edited prompt, " },
  },
  {
    name: "an edited workflow's plan is carried out whatever it would repeat",
    edits: [
      {
        file: "shared/engine/plan-round.ts",
        find: "if (done.calls.length === 0) return",
        replace: "if (done.calls.length < 99) return",
      },
    ],
    killedBy: { file: SIMULATION, test: "an edited workflow, " },
  },
  {
    name: "a kept task answers for another role",
    edits: [
      {
        file: "shared/core/workflow/plan.ts",
        find: "ids[place] !== null || free.get(id) !== wanted.role) return;",
        replace: "ids[place] !== null || !free.has(id)) return;",
      },
    ],
    killedBy: { file: "test/core/workflow/plan.test.ts", test: "never for another role, never a task twice" },
  },
  {
    name: "a kept task is taken from the wave that asks for it by content",
    edits: [
      {
        file: "shared/core/workflow/plan.ts",
        find: "    for (const id of ids) if (id !== null) taken.add(id);\n    claimed.set(decision, ids);\n  }\n",
        replace:
          "    for (const id of ids) if (id !== null) taken.add(id);\n    claimed.set(decision, ids);\n    standFor(cut, new Map([[decision, ids]]), new Map([...keeping].filter(([id]) => !taken.has(id))));\n    for (const id of ids) if (id !== null) taken.add(id);\n  }\n",
      },
    ],
    killedBy: { file: "test/core/workflow/plan.test.ts", test: "content first, over every wave of the tick" },
  },
  {
    name: "a task that was told to stop answers for another",
    edits: [
      {
        file: "shared/core/workflow/plan.ts",
        find: "digests.has(id) && !taken.has(id)",
        replace: "!taken.has(id)",
      },
    ],
    killedBy: { file: "test/core/workflow/plan.test.ts", test: "never one that isn't among those that may" },
  },
  {
    name: "what one edit let be done again is let be done by every edit after it",
    edits: [
      {
        file: "shared/core/workflow/repeat.ts",
        find: "givenUp.get(id) !== generation",
        replace: "!(givenUp.has(id) && generation > 0)",
      },
    ],
    killedBy: { file: KEEP_RUN, test: "is about one edit: another one asks again" },
  },
  {
    name: "a step in a task's place is begun without a question",
    edits: [
      {
        file: "shared/core/workflow/repeat.ts",
        find: "    ...steps.map(",
        replace: "    ...steps.slice(steps.length).map(",
      },
    ],
    killedBy: { file: KEEP_RUN, test: "is refused where nothing recorded could answer" },
  },
  {
    name: "a decision about one plan holds for whatever is planned next",
    edits: [
      {
        file: "shared/engine/cut-request.ts",
        find: "last?.asked.instead?.digest !== digest",
        replace: "last === null || digest === null",
      },
      {
        file: "shared/engine/cut-request.ts",
        find: "  return done ? null : (decided.decision ?? null);",
        replace: "  return done && digest === null ? null : (decided.decision ?? null);",
      },
    ],
    killedBy: { file: KEEP_RUN, test: "each of a sequence is a question of its own" },
  },
  {
    name: "each decision about a cut is under a key of its own",
    edits: [
      {
        file: "shared/engine/cut-request.ts",
        find: "decisionKey === cutKey(last.seq)",
        replace: "decisionKey.startsWith(cutKey(last.seq))",
      },
      {
        file: "shared/engine/speak-to-task.ts",
        find: "tell(deps, stream, cutKey(asked.seq), fact)",
        replace: "tell(deps, stream, cutKey(asked.seq) + deps.uuid(), fact)",
      },
    ],
    killedBy: { file: KEEP_RUN, test: "one question has one decider" },
  },
  {
    name: "a decision about an earlier question answers a later one",
    edits: [
      {
        file: "shared/engine/cut-request.ts",
        find: "decisionKey === cutKey(last.seq)",
        replace: 'decisionKey.startsWith("cut:")',
      },
    ],
    killedBy: { file: KEEP_RUN, test: "a decision about an earlier one is none about it" },
  },
  {
    name: "only a cut's own plan is looked at, not what is planned later",
    edits: [
      {
        file: "shared/engine/plan-round.ts",
        find: "if (left.tasks.length + left.children.length === 0 ||",
        replace:
          'if (work.log.at(-1)?.type !== "StreamInvalidated" || left.tasks.length + left.children.length === 0 ||',
      },
    ],
    killedBy: { file: KEEP_RUN, test: "but where it comes later, then" },
  },
  {
    name: "a page of a conversation begins with the turn that the one after it ends with",
    edits: [{ file: `${QUERIES}/list-turns.sql`, find: "e.seq < $2::bigint", replace: "e.seq <= $2::bigint" }],
    killedBy: { file: "test/engine/read-turns.test.ts", test: "are read whole by pages of" },
  },
  {
    name: "the oldest page of a conversation forgets its input",
    edits: [
      {
        file: "shared/engine/read-turns.ts",
        find: "whole && (before === null || before > 0) ? [...said, input] : [...said]",
        replace: "whole && before === null ? [...said, input] : [...said]",
      },
    ],
    killedBy: { file: "test/engine/read-turns.test.ts", test: "are read whole by pages of" },
  },
  {
    name: "of two answers in a row one is said",
    edits: [
      {
        file: `${QUERIES}/list-turns.sql`,
        find: "WHEN 'InputRequested' THEN true",
        replace:
          "WHEN 'InputRequested' THEN (SELECT b.type FROM :agent.events b WHERE b.run_id = e.run_id AND b.stream_id = e.stream_id AND b.seq < e.seq AND b.type IN ('InputRequested', 'UserMessage') ORDER BY b.seq DESC LIMIT 1) IS DISTINCT FROM 'InputRequested'",
      },
    ],
    killedBy: { file: STORE, test: "two answers in a row are two" },
  },
  {
    name: "a call that is begun again counts as the next of its kind",
    edits: [
      {
        file: "shared/core/task/state.ts",
        find: "if (call?.started == null) state.callCounts",
        replace: "state.callCounts",
      },
    ],
    killedBy: { file: UNKNOWN_OUTCOME, test: "allowed: it begins again, on record and under its key" },
  },
  {
    name: "one decision about a call with an unknown outcome holds for every death after it",
    edits: [
      {
        file: "shared/engine/task-approvals.ts",
        // biome-ignore lint/suspicious/noTemplateCurlyInString: code to be found
        find: "${work.state.starts.get(key) ?? 0}",
        replace: "0",
      },
    ],
    killedBy: { file: UNKNOWN_OUTCOME, test: "c6: allowed and begun again, its worker dies again" },
  },
  {
    name: "a call that is begun again leaves no record of it",
    edits: [
      {
        file: "shared/engine/task-steps.ts",
        find: "again === null ? key : startCall(work, stepId, call, tool, key)",
        replace: "key",
      },
    ],
    killedBy: { file: UNKNOWN_OUTCOME, test: "c6: allowed and begun again, its worker dies again" },
  },
  {
    name: "calls begin before it is known that their task fails",
    edits: [
      {
        file: "shared/engine/task-steps.ts",
        find: "  if (failure !== null) return await work.fail(failure);\n",
        replace: "",
      },
      {
        file: "shared/engine/task-steps.ts",
        find: "  if (running.length === 0) return waiting",
        replace: "  if (failure !== null) return await work.fail(failure);\n  if (running.length === 0) return waiting",
      },
    ],
    killedBy: { file: UNKNOWN_OUTCOME, test: "I4: a task that fails by onUnknownOutcome: fail records no start" },
  },
  {
    name: "an answer without a known price costs nothing",
    edits: [
      {
        file: "shared/core/cost.ts",
        find: "usd: known.length < costs.length ? null : usdOf(nano)",
        replace: "usd: usdOf(nano)",
      },
    ],
    killedBy: { file: "test/core/cost.test.ts", test: "is unknown, never zero" },
  },
  {
    name: "the price of a task counts answers that were cut away",
    edits: [{ file: `${QUERIES}/price-of-tasks.sql`, find: "c.seq > e.seq AND", replace: "c.seq < e.seq AND" }],
    killedBy: { file: STORE, test: "a price is of the answers that stand" },
  },
  {
    name: "rows of gates are locked in any order",
    edits: [
      {
        file: `${QUERIES}/pass-gates.sql`,
        find: "ON g.key = w.key ORDER BY g.key FOR UPDATE OF g",
        replace: "ON g.key = w.key ORDER BY random() FOR UPDATE OF g",
      },
    ],
    killedBy: { file: GATES, test: "gates in any order don't deadlock" },
  },
  {
    name: "who is inside a gate is counted in the statement's snapshot",
    edits: [
      {
        file: `${QUERIES}/pass-gates.sql`,
        find: "greatest(0, coalesce(l.inside, 0) - (SELECT count(*) FROM dead d WHERE d.key = w.key AND d.inside))::int AS counted",
        replace:
          "(SELECT count(*) FROM toren_control.gate_entries e WHERE e.key = w.key AND e.inside AND e.until > c.now)::int AS counted",
      },
    ],
    killedBy: { file: GATES, test: "newcomers that waited for the row: only as many as there is room for" },
  },
  {
    name: "who began to wait while a gate's row was waited for is forgotten",
    edits: [
      {
        file: "shared/adapters/flow/postgres.ts",
        find: "last.again && n < FLOW_PASSES_MAX",
        replace: "last.again && n < 0 * FLOW_PASSES_MAX",
      },
    ],
    killedBy: { file: GATES, test: "who began to wait while the leaving stream waited for the row is called" },
  },
  {
    name: "a newcomer takes the room of those who wait",
    edits: [
      {
        file: `${QUERIES}/pass-gates.sql`,
        find: "(g.cool_until IS NULL AND q.ahead < g.room AND",
        replace: "(g.cool_until IS NULL AND 0 < g.room AND",
      },
    ],
    killedBy: { file: "test/adapters/flow/postgres.test.ts", test: "a newcomer overtakes nobody who waits" },
  },
  {
    name: "the turn isn't kept from one gate's queue to the next",
    edits: [
      {
        file: `${QUERIES}/pass-gates.sql`,
        find: "THEN r.came ELSE r.waited END AS since",
        replace: "THEN r.came ELSE NULL END AS since",
      },
    ],
    killedBy: { file: "test/adapters/flow/postgres.test.ts", test: "the turn is kept from one queue to the next" },
  },
  {
    name: "an answer in hand is thrown away because its place can't be given back",
    edits: [
      {
        file: "shared/engine/gates.ts",
        find: '    deps.log.warn("gates not left",',
        replace: '    if (keys.length > 0) throw thrown;\n    deps.log.warn("gates not left",',
      },
    ],
    killedBy: { file: "test/engine/gates.test.ts", test: "what is in hand isn't thrown away" },
  },
  {
    name: "a model is asked without a place at its gate",
    edits: [
      {
        file: "shared/engine/ask-step.ts",
        find: "const waiting = await enterGates(deps, stream, gates);",
        replace: "const waiting = await enterGates(deps, stream, gates.filter((g) => g.max === null));",
      },
    ],
    killedBy: { file: SIMULATION, test: "a wave through gates with few places" },
  },
  {
    name: "a plan leaves its run shown as waiting for a signal",
    edits: [
      {
        file: `${QUERIES}/plan.sql`,
        find: "go.wait IN ('cut', 'timer', 'retry', 'signal')",
        replace: "go.wait IN ('cut', 'timer', 'retry')",
      },
    ],
    killedBy: { file: STORE, test: "a plan after a wait on" },
  },
  {
    name: "a signal that nobody waits for yet is forgotten",
    edits: [
      {
        file: "shared/core/workflow/session.ts",
        find: "const taker = this.#longestWaiting(fact.signal);\n      if (taker === undefined)",
        replace: "const taker = this.#longestWaiting(fact.signal);\n      if (taker !== undefined)",
      },
    ],
    killedBy: { file: SIGNALS, test: "one that comes before anybody waits is kept, and goes to one wait" },
  },
  {
    name: "a signal goes to the wait that began last",
    edits: [
      {
        file: "shared/core/workflow/session.ts",
        find: "return waiting.sort((a, b) => a.known.seq - b.known.seq)[0];",
        replace: "return waiting.sort((a, b) => b.known.seq - a.known.seq)[0];",
      },
    ],
    killedBy: { file: SIGNALS, test: "of several waits the one that began first gets it" },
  },
  {
    name: "a wait for a signal that is over with the run isn't on record",
    edits: [
      {
        file: "shared/core/workflow/decide.ts",
        find: '"value" in decision.event || decision.event.type === "SignalAwaited";',
        replace: '"value" in decision.event;',
      },
    ],
    killedBy: { file: SIGNALS, test: "S7: a wait that is over in the tick that ends the run is on record" },
  },
  {
    name: "a wait for a signal is given up by the log, whether its signal came or not",
    edits: [
      {
        file: "shared/engine/absorb.ts",
        find: 'if (op.type === "SignalAwaited") continue;',
        replace: 'if (op.type === "StepStarted") continue;',
      },
    ],
    killedBy: { file: "test/engine/signals.test.ts", test: "a time that passes after the signal came says nothing" },
  },
  {
    name: "a step that no worker can end is begun again for ever, and paid each time",
    edits: [
      {
        file: "shared/engine/hand-over.ts",
        find: "(at.solo || deps.longLane === false) && hadMs >= STEP_WHOLE_MS;",
        replace: "at.solo && deps.longLane === false && hadMs >= STEP_WHOLE_MS;",
      },
    ],
    killedBy: {
      file: "test/engine/lanes.test.ts",
      test: "a step that had a whole invocation ends the task, and isn't paid again and again",
    },
  },
  {
    name: "chaos strikes a task as often as it likes",
    edits: [
      {
        file: "local/chaos/blows.ts",
        find: "(hits.get(stream) ?? 0) < HITS_MAX",
        replace: "(hits.get(stream) ?? 0) < HITS_MAX + 9",
      },
    ],
    killedBy: { file: "test/local/chaos/blows.test.ts", test: "hit twice and recorded nothing since is spared" },
  },
  {
    name: "a database user has room for one version alone while two are deployed",
    edits: [{ file: "cdk/connections.ts", find: "[of, VERSIONS * limit]", replace: "[of, limit]" }],
    killedBy: { file: "test/cdk/stack.test.ts", test: "with a limit that two versions fit into" },
  },
];
