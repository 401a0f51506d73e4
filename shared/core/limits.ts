// Over 300 lines: one list. Every bound of the product (I11): the unit stands last in the name, the reason beside it. Relations are asserted when the module loads.

/** How long a writer holds a stream without a sign of life. Short enough for a quick take-over, long enough for a pause of the garbage collector. */
export const LEASE_MS = 30_000;
/** A worker renews its leases this many times in a lease's length. */
export const HEARTBEATS_PER_LEASE = 3;
/** A ready stream is first looked at by the guardian after this time: the nudge that was sent with it usually arrives long before. */
export const GRACE_MS = 5_000;
/** The guardian's pass on a laptop. Take-over of a dead writer's stream = lease + one pass. */
export const GUARDIAN_EVERY_MS = 5_000;
/** How far the guardian moves a stream's clock on when it nudges it. */
export const GUARDIAN_BACKOFF_MS = 20_000;
/** Streams that one statement of the guardian moves on: some milliseconds of row locks. What is left over is still due at the next pass. */
export const GUARDIAN_BATCH_STREAMS = 500;
/** A worker that must not touch a stream (older generation, unknown event, cut storm) sends its hint on with this delay (I7). */
export const DEFER_MS = 20_000;

/** Items of one group commit: past some hundred the statement's planning grows faster than the saved round trips (measured). */
export const COMMIT_BATCH_ITEMS = 128;
/** Of one group commit: past it the parse of the parameters takes longer than the round trip that it saves. */
export const COMMIT_BATCH_BYTES = 4 * 1024 * 1024;
/** Flushes under way at once per agent schema and worker. */
export const COMMIT_FLUSHES = 2;
/** Tries of one statement against lost connections and contention: some 1.5 s of waits between them, beside what each try itself waited. */
export const COMMIT_TRIES = 6;
/** The wait before the second try of a statement, twice as long each time, with jitter. */
export const COMMIT_BACKOFF_MS = 50;
/** A settling task that is moved to another wave meanwhile is sent anew, at most this often: each time needs another re-plan in those milliseconds. */
export const SETTLE_TRIES = 10;
/** Events and facts of one stream that one query reads. */
export const READ_PAGE_ROWS = 5_000;
/** A migration waits this long for another migrator, and for each lock that running workers hold. */
export const MIGRATE_WAIT_MS = 60_000;
/** Everybody behind a waiting ALTER waits too: so short, and tried again. */
export const MIGRATE_LOCK_TIMEOUT_MS = 2_000;
/** Five waits of two seconds for a lock: a running statement ends within STATEMENT_TIMEOUT_MS. */
export const MIGRATE_TRIES = 5;

/** A payload's field above this goes to the blobs table. 256 KiB is also the limit of an SQS message, so nothing above it ever rode on one. */
export const PAYLOAD_INLINE_BYTES = 256 * 1024;
/** A field of an event, whole. jsonb takes 256 MB, but a log is read into memory by its worker, and a deployed one has 1 GB for ten tasks. */
export const PAYLOAD_MAX_BYTES = 16 * 1024 * 1024;
/** Levels of arrays and objects in a JSON value. Postgres and JSON.stringify run out of stack at some thousands; people never come near. */
export const JSON_DEPTH_MAX = 1_000;
/** Inputs are texts and ids; what is larger is attached as a file. */
export const REQUEST_BODY_BYTES = 1024 * 1024;
/** A scanned book fits. It is held in memory once while it is written, by whoever takes the upload. */
export const FILE_MAX_BYTES = 32 * 1024 * 1024;
/** A long book. */
export const PDF_PAGES_MAX = 5_000;
/** Ten times a long book's text. A few compressed megabytes can unfold into gigabytes, and every reader holds the text in memory. */
export const PDF_TEXT_MAX_CHARS = 16 * 1024 * 1024;
/** For the text of one PDF: 400 full pages take 1.5 s (measured). The uploader waits, and API Gateway ends a request after 29 s. */
export const PDF_READ_MS = 25_000;
/** Heap of the thread that reads a PDF, one at a time in a process: a deployed function has 1 GB. */
export const PDF_READ_HEAP_MB = 512;
/** What the process may grow by meanwhile, unpacked streams included. */
export const PDF_READ_MEMORY_MB = 700;
/** A stream unfolds by some tens of megabytes in this time. */
export const PDF_READ_WATCH_MS = 50;
/** Wave results that one append of the run's stream carries at most. */
export const SETTLE_CHUNK_BYTES = COMMIT_BATCH_BYTES;

/** Planned in one statement of some hundred milliseconds; more tasks are several waves. */
export const WAVE_TASKS_MAX = 1_000;
/** A workflow is run again from its start at every tick: past this many operations each tick takes a noticeable part of a second. */
export const OPERATIONS_MAX = 10_000;
/** Parts of a run in a row that wait for nothing (ctx.continueAsNew): more is a loop that only costs. Turning an old form of an input into today's takes a few. */
export const CONTINUATIONS_IDLE_MAX = 20;
/** Runs above a run. A process that starts itself without an end would otherwise only be stopped by its budget; a tree is rarely five deep. */
export const CHILD_DEPTH_MAX = 10;
/** Children that a run is shown with. More of them are found in lists. */
export const CHILDREN_SHOWN_MAX = 200;
/**
 * Facts that a run's own stream was told since it began, or went on anew, from which on it takes no more signals: twice as many as a workflow's operations. Each
 * is read again at every tick.
 */
export const INBOX_FACTS_MAX = 2 * OPERATIONS_MAX;
/** The last time that a JavaScript Date can hold (year 275760); Postgres' timestamptz goes further. */
export const TIME_MAX_MS = 8_640_000_000_000_000;
/** What an error quotes of a thrown message at most. */
export const ERROR_MESSAGE_MAX_CHARS = 8_192;
/** Levels of causes that an error's message is looked for in, and causes side by side that it names. */
export const ERROR_CAUSES_MAX = 8;
/** What an error quotes of a place in a JSON value: its start says where to look. */
export const ERROR_PATH_CHARS = 200;
/** Steps of one run under way at once in its tick: they hold connections and memory of one worker. */
export const STEPS_PARALLEL_MAX = 16;
/** With STEP_BACKOFF_MS between them: over a passing failure, not over an outage. */
export const STEP_ATTEMPTS_DEFAULT = 3;
/** As a tool call: longer work is a task, or a step that asks how far something is. */
export const STEP_TIMEOUT_MS = 5 * 60_000;
/** The wait before a step's second try, twice as long each time. */
export const STEP_BACKOFF_MS = 1_000;
/** A run that waits for a retry holds nothing, but somebody waits for the run. */
export const STEP_BACKOFF_MAX_MS = 60_000;

/** Model calls of one task: a loop that finds no end stops before it costs much. */
export const MAX_STEPS_DEFAULT = 50;
/** Tokens of one answer: some twelve pages, and within what every current model may give. */
export const MAX_TOKENS_DEFAULT = 8_192;
/** A third of what Lambda gives an invocation: the task is handed over in time. */
export const TOOL_TIMEOUT_MS = 5 * 60_000;
/** Tool calls of one answer that are run: providers name no limit, so a model in a loop must meet ours. The rest are answered with an error. */
export const TOOL_CALLS_PER_ANSWER_MAX = 128;
/** What an author may set. Below 2^31 - 1, past which timers fire at once. */
export const TOOL_TIMEOUT_MAX_MS = 24 * 60 * 60_000;
/** More tries of one call would hold a worker for an outage's length; the model is told of the failure and decides. */
export const TOOL_ATTEMPTS_MAX = 10;
/** The worker waits with the call: no longer than a minute at a time. */
export const TOOL_BACKOFF_MAX_MS = 60_000;
/** Results of a search in attached files: a page at a time, so that one call can't fill a model's context. */
export const SEARCH_RESULTS_DEFAULT = 8;
/** With SEARCH_RESULT_CHARS each, some 15,000 tokens. */
export const SEARCH_RESULTS_MAX = 50;
/** A paragraph or two around a hit: enough to see whether the place is worth reading. */
export const SEARCH_RESULT_CHARS = 1_200;
/** Of a PDF in one call; READ_RESULT_CHARS bounds what comes back. */
export const READ_PAGES_MAX = 50;
/** Some three pages of prose or code. */
export const READ_LINES_DEFAULT = 200;
/** What a model may ask for; READ_RESULT_CHARS bounds what it gets. */
export const READ_LINES_MAX = 2_000;
/** A longer line (minified code, a data dump) is read in parts, by the tool's fromChar. */
export const READ_LINE_CHARS = 4_000;
/** Some 16,000 tokens: a tenth of a common context. */
export const READ_RESULT_CHARS = 64_000;
/** What a search works on before other work of the process gets its turn: some 25 ms (measured). */
export const SEARCH_TURN_CHARS = 256 * 1024;
/** A longer line is searched in parts. */
export const SEARCH_LINE_CHARS = 8_000;
/** Decoded text of attached files kept in a worker, all runs together: some 128 MB of a heap at most, and a researcher reads the same documents at every step. */
export const FILE_TEXTS_KEPT_CHARS = 64 * 1024 * 1024;
/** A role's system prompt: more than most models' whole context window. */
export const SYSTEM_PROMPT_MAX_BYTES = 1024 * 1024;
/** A part of a server's start that takes longer than this is said: making the database, loading agents. */
export const START_QUIET_MS = 1_000;
/** How long an agent's modules may take to load (they can await at their top level). */
export const AGENT_LOAD_MS = 30_000;
/** Bundles of agents that nobody has loaded for so long are deleted. */
export const BUNDLE_KEEP_MS = 7 * 24 * 60 * 60_000;
/** A burst of changes to an agent's files (an editor, a checkout) is one reload. */
export const RELOAD_DEBOUNCE_MS = 100;
/** As the providers' own clients have it: a long answer without streaming takes minutes. */
export const MODEL_TIMEOUT_MS = 10 * 60_000;
/** A streamed answer may take longer, while something comes: this ends what never ends. Adapters watch for silence. */
export const MODEL_CALL_MAX_MS = 60 * 60_000;
/** A provider's host that takes no connection by then is away: a new try finds another address. */
export const MODEL_CONNECT_MS = 10_000;
/** Of a page that came instead of a provider's answer, for its error message. */
export const MODEL_ERROR_PAGE_CHARS = 300;
/** Bedrock takes 3.75 MB, which is 5 MiB in base64 at the models behind it. */
export const BEDROCK_IMAGE_MAX_BYTES = 3_750_000;
/** Bedrock's own for documents; its newer models take PDFs as large as a request may be. */
export const BEDROCK_PDF_MAX_BYTES = 4_500_000;
/** Bedrock's own, of one request. */
export const BEDROCK_PDFS_MAX = 5;
/** Bedrock's own, of one message; models differ in what they take of a whole request, and more than twenty must be smaller pictures. */
export const BEDROCK_FILES_MAX = 20;
/** A request to Claude on Bedrock has 20 MB at most. In base64 these are 16, which leaves 4 for words. */
export const BEDROCK_FILES_MAX_BYTES = 12_000_000;
/** Bedrock's own, of one request. */
export const BEDROCK_CACHE_MARKS_MAX = 4;
/** Bedrock's own. */
export const BEDROCK_DOCUMENT_NAME_CHARS = 200;
/** Between two signs of life of a streamed answer, and before the first: streams carry pings, and the slowest start is that of a million tokens of input. */
export const MODEL_SILENCE_MS = 5 * 60_000;
/** Parts of one request that are left out one after the other because the provider refused them; refusals cost no money, but each costs a round trip. */
export const MODEL_PARTS_LEFT_OUT_MAX = 8;
/** Of the content of a file, to tell what it is: as far as readers look for a PDF's beginning. */
export const FILE_SIGNATURE_BYTES = 1_024;
/** Of a document's name as a model is told it: Anthropic's limit is 500. */
export const DOCUMENT_TITLE_CHARS = 200;
/** Anthropic's API: of one image in base64 (platform.claude.com/docs/en/build-with-claude/vision). */
export const ANTHROPIC_IMAGE_BASE64_CHARS = 10_000_000;
/** Anthropic's API: of a whole request (platform.claude.com/docs/en/api/errors). */
export const ANTHROPIC_REQUEST_BYTES = 32_000_000;
/** Anthropic's API: images, and pages of PDFs, of one request to a model with a window of less than a million tokens; others take six times as many. */
export const ANTHROPIC_FILES_MAX = 100;
/** Anthropic's API: properties that an output schema may leave open (platform.claude.com/docs/en/build-with-claude/structured-outputs). */
export const ANTHROPIC_SCHEMA_OPTIONAL_MAX = 24;
/** Anthropic's API: places of an output schema that may be of several types; the same page. */
export const ANTHROPIC_SCHEMA_UNIONS_MAX = 16;
/** OpenAI's of one image; larger ones are scaled down there anyway. */
export const OPENAI_IMAGE_MAX_BYTES = 20_000_000;
/** OpenAI's of all files of one request, in base64 (developers.openai.com/api/docs/guides/file-inputs). */
export const OPENAI_FILES_BASE64_CHARS = 50_000_000;
/** OpenAI's of images in one request, as it was first; newer models take three times as many. */
export const OPENAI_FILES_MAX = 500;
/** OpenAI's chat completions, of calls in one message of the assistant's. */
export const OPENAI_CALLS_PER_MESSAGE_MAX = 128;
/** OpenAI refuses to be asked for less of an answer. */
export const OPENAI_OUTPUT_TOKENS_MIN = 16;
/** OpenAI's of a tool's description, as it was first; what we add to one stays below. */
export const OPENAI_TOOL_DESCRIPTION_CHARS = 1_024;
/** Between two looks at an answer that is made in the background, unless the provider says when to look again. */
export const MODEL_POLL_MS = 2_000;
/** An answer that takes minutes is looked at less often. */
export const MODEL_POLL_MAX_MS = 10_000;
/** Tries of one model call in a row within one worker; past them the task parks until the next one. */
export const MODEL_TRIES = 6;
/** A longer wait than this parks the task: an outage holds no worker. */
export const MODEL_WAIT_IN_PROCESS_MS = 5_000;
/** Failed tries of one call, parks included, before the task fails: with the longest back-off some five hours. */
export const MODEL_FAILURES_MAX = 60;
/** The ceiling of the first wait, twice as high each time, with jitter. */
export const MODEL_BACKOFF_MS = 500;
/** The ceiling of every wait that no provider asked for: rate limits are counted by the minute. */
export const MODEL_BACKOFF_MAX_MS = 20_000;
/** A provider's retry-after is honoured up to this long; past it the call is sent again and may be refused again, which costs a try and no money. */
export const MODEL_RETRY_AFTER_MAX_MS = 10 * 60_000;
/** A step isn't begun with less time left: the task is handed to the next invocation instead. */
export const STEP_RESERVE_MS = 60_000;
/** A step that had so much of an invocation and was cut off is too long for every other one. */
export const STEP_WHOLE_MS = 10 * 60_000;
/** A provider that pauses a turn (`pause`) is asked to go on this often in a row. */
export const PAUSES_MAX = 10;

/** Events after which a parked session's state is kept again: fewer would be written more often than read, more would be folded at each turn. */
export const SNAPSHOT_EVERY_EVENTS = 50;
/** A larger state is folded anew each time; a full window of text is a tenth of it. */
export const SNAPSHOT_MAX_BYTES = 8 * 1024 * 1024;
/** Starts of the same worker within this time are one: many send long tasks at once. */
export const LONG_WORKER_SAME_START_MS = 60_000;
/** What one RunTask may start: ECS' own limit. */
export const LONG_WORKERS_START_MAX = 10;
/** To AWS' services, which are in the same region: a host that hasn't answered by then is away. */
export const AWS_CONNECT_MS = 5_000;
/** Of one try of a call to SQS, Scheduler, ECS or Secrets Manager, answered in some 20 ms. The SDK tries three times. */
export const AWS_CALL_MS = 8_000;
/** Of one try to write or read a file in S3: 32 MiB at 1 MiB a second. */
export const AWS_OBJECT_MS = 32_000;
/** Tries of migrate to read the stack's own secrets: a new stack's way out, and its roles' rights, come within a minute or two. */
export const MIGRATE_SECRET_TRIES = 24;
/** CloudFormation takes 4 KiB of an answer. */
export const MIGRATE_REASON_MAX_CHARS = 1_500;
/** Time to answer CloudFormation in, kept from the migration's work. */
export const MIGRATE_ANSWER_MS = 15_000;
/** Room for the names of what a worker works on, for a watchdog's last words. */
export const WATCHDOG_NOTE_BYTES = 2_048;
/** The largest cap in dollars: its billionths are exact in a JavaScript number. */
export const COST_CAP_MAX_USD = 1_000_000;
/** A task whose call doesn't fit beside what others have reserved looks again after this time: a usual call has ended by then. */
export const BUDGET_WAIT_MS = 2_000;
/** Who was called to a gate has first claim on its room for so long: a hint takes a second, and a busy worker may need some more. */
export const FLOW_CALL_MS = 15_000;
/** Who has just been told to wait isn't called before: its worker needs some milliseconds to park it, and a hint for a stream that is held is lost. */
export const FLOW_SETTLE_MS = 500;
/** Calls that a waiting stream may miss before it loses its turn: its hints were lost, or it is no more. */
export const FLOW_CALLS_MAX = 3;
/** Streams that one statement calls, and how far it looks down a queue: a millisecond of row locks. Those who were called call the next. */
export const FLOW_CALLED_AT_ONCE_MAX = 100;
/** A waiting stream that nobody calls looks again by itself: for a lost call, or for a place whose holder died (a lease). */
export const FLOW_RETRY_MS = 30_000;
/** Later for whoever has more ahead of it: a place changes hands twice a second when hundreds wait, so that most are called before. */
export const FLOW_RETRY_PER_AHEAD_MS = 500;
/** Later, too, for whoever has waited long: a lost call costs it at most so much of that time. */
export const FLOW_RETRY_WAITED_PERCENT = 25;
/** The longest of these waits: each costs a take of the stream and one statement. */
export const FLOW_RETRY_MAX_MS = 5 * 60_000;
/** A waiting stream that hasn't looked again by so long after it meant to is gone: a guardian's pass and a take-over, several times. */
export const FLOW_UNHEARD_MS = 5 * 60_000;
/** Those who may go on at the end of a cool-down do so within this time, not all in one moment: a tenth of the shortest one that providers ask for. */
export const FLOW_SPREAD_MS = 1_000;
/** A gate that nobody was at for so long is forgotten: of a wave that is over. */
export const FLOW_FORGET_MS = 60 * 60_000;
/** Oldest gates that are looked at for that when a new one is made: more than an installation has of those that stay (models, agents). */
export const FLOW_FORGET_GATES = 1_000;
/** Statements about gates that a worker has under way: more would wait for one another's row locks, on connections that appends need. */
export const FLOW_STATEMENTS = 1;
/** Statements in a row for those who came while a gate's row was waited for: each needs another such meeting. */
export const FLOW_PASSES_MAX = 3;
/** A worker asks this often at most which models cool down: a 429 that another worker met is known a second later. */
export const COOL_DOWNS_KEEP_MS = 1_000;
/** The largest number of places that an author may set (maxInFlight, maxParallel): no fleet comes near, and every counter holds it. */
export const PARALLEL_MAX = 1_000_000;
/** UTF-8 bytes that are counted as one token where nobody has counted: English takes four, code and other languages fewer. */
export const BYTES_PER_TOKEN = 3;
/** Tokens that an image or a PDF is taken for: what the dearest providers count for a large image. */
export const MEDIA_TOKENS = 5_000;
/** Of a context window, past which old results of tools are left out. */
export const ELIDE_AT_PERCENT = 50;
/** Of the window, that this must free: it breaks the provider's cache, which has to be worth it. */
export const ELIDE_MIN_FREED_PERCENT = 10;
/** A shorter result takes less room than it costs to leave it out. */
export const ELIDE_MIN_CHARS = 500;
/** What the model is working with just now stays as it is. */
export const RECENT_RESULTS_KEPT = 3;
/** Of the window, past which the older part of a conversation becomes a summary: the answer and the summary's request must still fit. */
export const FOLD_AT_PERCENT = 78;
/** Of the window, that a summary must free unless it is nearly full: each is a call, and less is used up by the next steps. */
export const FOLD_MIN_FREED_PERCENT = 10;
/** Summaries without a step in between: a second one where the first kept too much, a third where the provider knew better. More would go in a circle. */
export const FOLDS_IN_A_ROW_MAX = 3;
/** Of the window, past which the recent messages are folded too: the next answer would have no room. */
export const WINDOW_FULL_AT_PERCENT = 95;
/** Three exchanges: a model that loses its last steps repeats them. */
export const RECENT_MESSAGES_KEPT = 6;
/** Of a summary: what a model is asked for. What it thinks before comes out of the role's own `maxTokens`, as in every answer. */
export const SUMMARY_TOKENS_MAX = 2_048;
/** Of the window, where that is less: a summary must be far smaller than what it replaces. */
export const SUMMARY_WINDOW_PERCENT = 12;
/** Of the window, where a conversation is read in parts: what a model may think before it writes; more would leave too little for a part. */
export const SUMMARY_THOUGHT_PERCENT = 12;
/** Below this a summary says nothing. */
export const SUMMARY_TOKENS_MIN = 64;
/** A provider that says "too long" knows better than the estimate: the window is taken for so much of what was sent. */
export const WINDOW_SHRINKS_TO_PERCENT = 75;
/** Calls for the summary of what is too long to be read at once: a hundred windows of text. */
export const COMPACTION_PARTS_MAX = 100;
/** A window that leaves less for a part can't be used. */
export const PART_BYTES_MIN = 256;

/** Digests of request headers that a worker remembers as kept: a role of one version of an agent has one. */
export const REMEMBERED_HEADERS = 1_000;

/** Runs whose data keys a worker keeps in memory: some hundred bytes each, against a small query a run. */
export const SEALED_RUNS_KNOWN = 5_000;
/** Of a sealed text in an outline: it has to be read whole to show its beginning. What is larger says nothing there. */
export const OUTLINE_SEALED_CHARS = 64 * 1024;

/** Recorded tasks, and new ones, that a question about a plan shows: a screen of each. The decision is about all of them. */
export const CUT_SHOWN_MAX = 20;
/** Of a task's input in such a question: a line or two. */
export const CUT_INPUT_CHARS = 120;
/** Cuts of one stream by one generation in CUT_STORM_WINDOW_MS; one more is a digest that isn't stable (I7). */
export const CUT_STORM_CUTS = 3;
/** Longer than the few minutes in which an unstable digest shows; a person who edits as often is slower. */
export const CUT_STORM_WINDOW_MS = 5 * 60_000;
/** A cut changes what comes after it, so another may follow in the same advance; each is one event. More of them is a workflow that never agrees with its log. */
export const CUTS_IN_ONE_ADVANCE_MAX = 1_000;
/** Acquisitions without progress after which a stream runs alone in its worker. */
export const CRASHES_BEFORE_SOLO = 3;
/** Deaths alone after which the stream fails: nobody else can have caused them. */
export const CRASHES_ALONE_MAX = 3;

/** Receives of one queue message before it is a dead letter. */
export const RECEIVES_MAX = 5;
/** A received message is shown again after this time unless its reader says that it still works on it, three times as often. */
export const VISIBILITY_MS = 60_000;
/** As SQS has it. */
export const QUEUE_BATCH_MESSAGES = 10;
/** Tasks wait for models nearly all the time: ten share one core, and one heap, well. */
export const TASKS_PER_WORKER = 10;
/** A message that a stopping worker gives back is shown again this soon: to others. Also the first wait for a queue that doesn't answer. */
export const NACK_MS = 200;
/** The longest wait of a message that failed: a database that came back is used within half a minute. */
export const QUEUE_BACKOFF_MAX_MS = 30_000;
/** SQS delays a message by at most this. */
export const QUEUE_DELAY_MAX_MS = 15 * 60_000;
/** What one deployed invocation may take: both get all that Lambda gives: a tick runs the workflow's steps, a task its model calls and tools, and both hand over before it is used up. */
export const TICK_INVOCATION_MS = 15 * 60_000;
/** The most that Lambda gives. */
export const TASK_INVOCATION_MS = 15 * 60_000;
/** A pass takes a second; a long audit is stopped here and begun anew an hour later. */
export const GUARDIAN_INVOCATION_MS = 60_000;
/** API Gateway ends a request after 29 s. */
export const API_INVOCATION_MS = 29_000;
/** A stream of events is resumed by its reader when it ends: no connection is held for longer. */
export const EVENTS_INVOCATION_MS = 60_000;
/** A new stack's way out (a NAT instance) opens within a minute or two of its start. */
export const CLOUDFORMATION_TRIES = 60;
/** Between them. */
export const CLOUDFORMATION_WAIT_MS = 5_000;
/** Schemas of a hundred agents; CloudFormation itself waits for an hour. */
export const MIGRATE_INVOCATION_MS = 15 * 60_000;
/** A deployed worker takes more messages into free slots while this much time is left: most tasks end within it. */
export const TOP_UP_UNTIL_MS = 3 * 60_000;
/** How often a deployed worker with free slots asks for more while others work: 0.0004 cents a time, a hundredth of what it costs to run. */
export const TOP_UP_EVERY_MS = 2_000;
/** Of the heap, past which a deployed worker takes in no more: what it has still grows, and a crash ends all ten. */
export const ADMISSION_HEAP_PERCENT = 60;
/** An event loop that stood still for so long held up heartbeats and time-outs: said in the log. */
export const EVENT_LOOP_DELAY_MS = 1_000;
/** Tries of messages that SQS refused as its own failure (a throttle): its client has waited between tries of a whole request before. */
export const QUEUE_SEND_TRIES = 3;
/** A collector that doesn't answer must not keep an invocation: what isn't sent by then is sent with the next. */
export const SPANS_FLUSH_MAX_MS = 2_000;
/** Characters of a field in a JSON log line: an error's message in full, never a document. CloudWatch takes 256 KB a record. */
export const LOG_FIELD_MAX_CHARS = 2_000;
/** EventBridge Scheduler is exact to a minute: it sends a hint this much earlier, and the queue's delay is exact to a second. */
export const TIMER_EARLY_MS = 90_000;
/** The pulse's beat on AWS: while anything is leased or due soon, a pass of the guardian follows the last one by this. */
export const PULSE_MS = 5_000;
/** What is due within this time keeps the pulse going; what is later is in time with the schedule that starts it every minute. */
export const PULSE_HORIZON_MS = 60_000;
/** A beat that is so late is lost: SQS delivers within a second or two. */
export const PULSE_LATE_MS = 15_000;
/** Tasks at once of a worker without Lambda's time limit: they wait for models and tools nearly all the time. */
export const LONG_TASKS_PER_WORKER = 64;
/** How often a worker for long tasks looks whether newer code than its own was deployed. */
export const OUTDATED_EVERY_MS = 30_000;
/** The guardian leaves a task alone for so long that was sent to a worker for long tasks: one may have to be started first. */
export const LONG_GRACE_MS = 3 * 60_000;
/** This long before a deployed function is cut off, steps under way are given up: time to let go of ten streams. */
export const CUT_OFF_MS = 10_000;
/** A worker for long tasks that finds nothing for this long ends: starting another takes half a minute. */
export const LONG_IDLE_MS = 2 * 60_000;
/** A deployed queue shows a message again this long after its reader must have ended. */
export const VISIBILITY_MARGIN_MS = 60_000;
/** A hint that nobody took for this long is of no use: the guardian has sent others. */
export const MESSAGE_RETENTION_MS = 4 * 24 * 60 * 60_000;
/** The most that SQS keeps. A dead letter's age counts from its first sending, so this must be well above MESSAGE_RETENTION_MS. */
export const DEAD_LETTER_RETENTION_MS = 14 * 24 * 60 * 60_000;
/** Ticks are the database's and the processor's work, so few at once; and steps run in them. */
export const TICKS_PER_WORKER = 4;
/** How often a worker asks the queue when nothing woke it: a lost notification costs this much. */
export const QUEUE_POLL_MS = 1_000;
/** Notifications of this long are one: commits that notify wait for one another. */
export const NOTIFY_GATHER_MS = 5;
/** How soon a lost LISTEN connection is made anew; the poll carries on meanwhile. */
export const LISTEN_RETRY_MS = 1_000;
/** A session that listens says something this often: some servers end idle ones, and a dead connection is found. */
export const LISTEN_PING_MS = 20_000;
/** Pieces of an answer that comes in go out together this often. */
export const LIVE_BATCH_MS = 100;
/** That a watched log has grown is said so much later: what is appended at once is said once. */
export const LIVE_GREW_MS = 5;
/** Characters of one piece: a notification's payload is under 8,000 bytes, and a character may take six in JSON. */
export const LIVE_PIECE_CHARS = 1_200;
/** Pieces that one worker sends at once; the rest goes with the next. */
export const LIVE_PIECES_MAX = 100;
/** Characters of one call's text, and of its reasoning, that watchers see while it is made; what is longer they read when it is recorded. */
export const LIVE_CALL_CHARS = 200_000;
/** Who watches says so again within this time, or is forgotten. */
export const LIVE_WATCH_MS = 30_000;
/** How often who watches says so. */
export const LIVE_WATCH_RENEW_MS = 10_000;
/** Pieces that wait for a slow reader: beyond it they are dropped, and it reads the recorded answer. */
export const LIVE_WAITING_PIECES_MAX = 1_000;
/** Nothing waits for a dead letter to be recorded. */
export const DEAD_LETTERS_EVERY_MS = 5_000;
/** The first wait of a failed message, three times as long each time: an outage of half a minute kills no hint. */
export const QUEUE_BACKOFF_MS = 1_000;
/** How often the guardian looks for parked streams that nobody would wake (I10). */
export const AUDIT_EVERY_MS = 60 * 60_000;
/** A stopping worker lets what runs come to a step boundary for this long; then the leases run out by themselves. */
export const DRAIN_MS = 20_000;

/** Connections of one worker for appends: they share statements (group commit), so few are enough; a hundred workers fit a default server either way. */
export const APPEND_CONNECTIONS = 4;
/** Reads, leases, facts and the API of one worker share these. */
export const POOL_CONNECTIONS = 8;
/** A deployed function's: it works on ten tasks at once, a thousand of it share one server, and each of its users has a limit. */
export const FUNCTION_APPEND_CONNECTIONS = 2;
/** As above: with those for appends, five connections an execution environment at most. */
export const FUNCTION_POOL_CONNECTIONS = 3;
/** Of the guardian's function: one holds the pass's lock, the other asks. Several of its environments meet now and then, and its user may have few. */
export const GUARDIAN_POOL_CONNECTIONS = 2;
/** The server ends a session that was idle for so long: of a function that froze with it. */
export const IDLE_SESSION_TIMEOUT_MS = 60_000;
/** Of a token for RDS; it is valid for 15 minutes, and only looked at when a connection is made. */
export const DATABASE_TOKEN_KEEP_MS = 10 * 60_000;
/** A secret is read anew after this time; earlier when a provider refuses a key. */
export const SECRET_KEEP_MS = 5 * 60_000;
/** Of re-reads that refused keys ask for: a wrong key must not call Secrets Manager for every task. */
export const SECRET_REREAD_MS = 10_000;
/** A larger file goes to S3: a row of it would be copied by every reader's connection, and Lambda's answers hold 6 MB. */
export const FILE_IN_ROW_BYTES = 4 * 1024 * 1024;
/** Of a presigned address: it is used at once. */
export const FILE_LINK_MS = 5 * 60_000;
/** A lock that an append can't get in this time belongs to somebody stuck: the batch is retried. */
export const LOCK_TIMEOUT_MS = 2_000;
/** Of the appends' connections: their statements take milliseconds, and one that hangs holds row locks. */
export const STATEMENT_TIMEOUT_MS = 10_000;
/** A worker that was stopped within a transaction gives its locks back after this time. */
export const IDLE_IN_TRANSACTION_TIMEOUT_MS = 10_000;
/** Everything but appends: reports over many runs may take longer, nothing may take for ever. */
export const POOL_STATEMENT_TIMEOUT_MS = 60_000;
/** An idle worker lets its connections go; one that comes back from a pause doesn't trust old ones. */
export const CONNECTION_IDLE_MS = 30_000;
/** A host that doesn't answer by then is away: the statement is tried again. */
export const CONNECT_TIMEOUT_MS = 5_000;
/** How long a start waits for a database that is away. */
export const DATABASE_PATIENCE_MS = 15_000;
/** Asked this often meanwhile. */
export const DATABASE_RETRY_MS = 250;
/** Starting the embedded server includes the recovery of its log after a crash. */
export const EMBEDDED_START_MS = 60_000;
/** A fast shutdown writes a checkpoint: seconds on a slow disk. Past it the log's recovery does the same at the next start. */
export const EMBEDDED_STOP_MS = 10_000;
/** The embedded server's log is begun anew at a start when it is larger. */
export const EMBEDDED_LOG_BYTES = 1024 * 1024;
/** `clock_timestamp()` per row, SKIP LOCKED, ICU collations, jsonb subscripts: all in 15; older ones are never tested. */
export const POSTGRES_MAJOR_MIN = 15;

/** A stream of events says this often that it is still there: proxies end what is silent for longer. */
export const EVENTS_COMMENT_MS = 15_000;
/** A stream of events ends this long before its invocation would: its reader comes again. */
export const EVENTS_LAST_MS = 3_000;
/** A long-polled page of events waits at most this long. API Gateway ends a request after 29 s. */
export const EVENTS_WAIT_MAX_MS = 20_000;
/** A waiting reader asks the database this often: one cheap query. */
export const EVENTS_POLL_MS = 1_000;
/** Events of one stream that one page holds at most. */
export const EVENTS_PAGE = 500;
/** A page of events ends with the event that passes this: Lambda answers with 6 MB at most. One event alone may be larger. */
export const EVENTS_PAGE_BYTES = 4 * 1024 * 1024;
/** Streams read for one page of events: the others' turn comes with the next. */
export const EVENTS_PAGE_STREAMS = 50;
/** Runs that one statement erases at most. */
export const ERASE_BATCH_RUNS = 100;
/** Some hundred milliseconds of deletes; one run more may pass it. */
export const ERASE_BATCH_EVENTS = 20_000;
/** Of an agent's rule in one hour: a million small runs a week. */
export const RETENTION_BATCHES_MAX = 100;
/** A page of dead letters, when nobody says how many. */
export const DEAD_LETTERS_PAGE = 50;
/** They are small, and there are few where all is well. */
export const DEAD_LETTERS_PAGE_MAX = 200;
/** Rows that one query of an export reads at most. */
export const EXPORT_QUERY_ROWS = 500;
/** The last row may pass it. */
export const EXPORT_QUERY_BYTES = 1024 * 1024;
/** A page is whole queries until it has so much: with the last one, and its last row, within Lambda's 6 MB. */
export const EXPORT_PAGE_BYTES = 2 * 1024 * 1024;
/** A large value comes in parts: of 4 bytes a character at most, doubled where JSON escapes them. */
export const EXPORT_PART_CHARS = 128 * 1024;
/** A field of an event above this is left out of a page that wasn't asked for in full. */
export const EVENT_FIELD_BRIEF_BYTES = 1_000;
/** A cursor over many streams that fits everywhere: API Gateway takes 10,240 bytes for the request line and all headers. */
export const EVENTS_CURSOR_CHARS = 8_000;
/** Tasks of a wave that a cursor may speak of: a forged one must not make us allocate. */
export const EVENTS_CURSOR_TASKS_MAX = 100_000;
/** Boundaries and headers of a form around an uploaded file. */
export const FORM_OVERHEAD_BYTES = 64 * 1024;
/** Their list is read with every tool call that asks for files. */
export const RUN_FILES_MAX = 1_000;
/** It is copied to every open task. */
export const CANCEL_REASON_MAX_CHARS = 1_000;
/** A message for a session that was just started waits so long for its first tick, which takes milliseconds where a worker is there. */
export const SESSION_BEGIN_WAIT_MS = 5_000;
/** It looks this often meanwhile. */
export const SESSION_BEGIN_POLL_MS = 100;
/** A name, as people read it; a model reads it too when a call was denied. */
export const DECIDED_BY_MAX_CHARS = 200;
/** A paragraph or two: a model reads it when a call was denied. */
export const DECISION_COMMENT_MAX_CHARS = 4_000;
/** Names of signals are written by people and stand in lists. */
export const SIGNAL_NAME_MAX_CHARS = 200;
/** After this time a client may ask again when the database is away. */
export const RETRY_AFTER_S = 2;
/** A screen or two. */
export const FILES_PAGE = 50;
/** Rows of a list, without contents: some 50 KB. */
export const FILES_PAGE_MAX = 200;
/** A screen or two. */
export const RUNS_PAGE = 50;
/** Rows of a list, without inputs and outputs: some 100 KB. */
export const RUNS_PAGE_MAX = 200;
/** Newest runs that are looked through for a word before the index of all words is asked: some 3 ms. A word that fewer than one in twenty has isn't found there in time. */
export const LIST_NEWEST_RUNS = 1_000;
/** Runs that wait for people, as the overview shows them: a screen or two, those that have waited longest. */
export const OVERVIEW_WAITING_RUNS = 50;
/** Approvals and cuts of all of them: one wave may wait for a thousand. */
export const OVERVIEW_WAITING_MAX = 200;
/** Events of a stream's end in which it has asked what it waits for: an answer's calls with their beginnings, results and requests. */
export const OVERVIEW_TAIL_EVENTS = 1_000;
/** Of a call's arguments in the overview: what a person reads before a decision. */
export const OVERVIEW_ARGS_BYTES = 4_000;
/** Runs under way that are looked at for stuck streams, the oldest. */
export const OVERVIEW_LIVE_RUNS = 5_000;
/** More stuck streams have one cause. */
export const OVERVIEW_STUCK_MAX = 50;
/** The failures before them are in the list of runs. */
export const OVERVIEW_ERRORS = 10;
/** Work that waits longer than this is stuck: hints take milliseconds, and the guardian looks within half a minute. */
export const STUCK_AFTER_MS = 60_000;
/** Runs of a status, and messages of a queue, that are counted at most: some 5 ms of an index. Who has more knows enough. */
export const FIGURES_MAX = 10_000;
/** Streams that one statement adds to the totals: some milliseconds of row locks. */
export const COUNT_BATCH_STREAMS = 500;
/** Such statements in a pass of the guardian, of an agent: 2,000 streams a second, where a pass comes every 5 s. */
export const COUNT_BATCHES = 20;
/** One that is worked on is added once a pass and not once a batch. */
export const COUNT_AFTER_MS = 1_000;
/** A revoked key is refused everywhere after this time: until then a process may remember it. */
export const KEY_KEEP_MS = 5_000;
/** Keys that a process remembers. */
export const KEYS_REMEMBERED = 1_000;
/** For people. */
export const KEY_NAME_MAX_CHARS = 100;
/** Agents that a key may be restricted to. */
export const KEY_AGENTS_MAX = 100;
/** Requests of one key that a process answers in a second, over a while: a program that asks more often than this is one in a loop. */
export const REQUESTS_PER_S = 200;
/** At once, before that rate holds: a page that opens asks for some ten things. */
export const REQUESTS_BURST = 400;
/** Rows of the audit: a screen or two. */
export const AUDIT_PAGE = 50;
/** Some 50 KB. */
export const AUDIT_PAGE_MAX = 200;
/** Schedules of an installation: a page shows them all. */
export const SCHEDULES_MAX = 1_000;
/** A schedule's input is read at every list of them; what is larger is a file's or a workflow's to read. */
export const SCHEDULE_INPUT_BYTES = 64 * 1024;
/** Of one pass of the guardian; what is left over is still due. */
export const SCHEDULES_PER_PASS = 100;
/** A time that nobody came to for so long is missed, under catch-up `none`: some passes of the guardian, a deployment. */
export const SCHEDULE_LATE_MS = 5 * 60_000;
/** Runs that a schedule starts at once to catch up, the last ones: more would be a flood after an outage. */
export const SCHEDULE_CATCH_UP_MAX = 100;
/** How long it is kept which time became which run. */
export const SCHEDULE_FIRES_KEEP_DAYS = 30;
/** Next times that are shown of a schedule by default, and at most. */
export const SCHEDULE_TIMES = 5;
/** Some weeks of a daily one. */
export const SCHEDULE_TIMES_MAX = 50;
/** A cron expression; the longest sensible ones list every minute of an hour. */
export const CRON_MAX_CHARS = 200;
/** Labels of one run: a customer, an order, a source; what is more is input. */
export const ATTRIBUTES_MAX = 20;
/** A name or an id. In UTF-8 and with its key far below the 2 KB that Postgres takes of a word. */
export const ATTRIBUTE_VALUE_MAX_CHARS = 200;
/** Of an input, that a run is found by: what people search for stands in its beginning, and each word is an entry in an index. */
export const TERMS_INPUT_CHARS = 16_000;
/** Different words of an input that a run is found by. */
export const TERMS_MAX = 1_000;
/** A longer word is found by its beginning. */
export const TERM_MAX_CHARS = 64;
/** Of a search, what people type. */
export const SEARCH_TEXT_MAX_CHARS = 200;
/** Values of one parameter that may be given several times. */
export const FILTER_VALUES_MAX = 50;
/** The end of a conversation, as a run shows it: what a person scrolls through; a model's answer is some kilobytes. */
export const TURNS_PAGE = 50;
/** A day of a lively conversation. */
export const TURNS_PAGE_MAX = 200;
/** A page of a conversation ends with the turn before the one that passes this, since a run shows it beside all else within Lambda's 6 MB. One turn alone may be larger. */
export const TURNS_PAGE_BYTES = 1024 * 1024;
/** Events of one page of a stream's outline: a task of 2,000 steps is one page. Each is some 300 bytes, so the page stays within Lambda's 6 MB. */
export const OUTLINE_EVENTS = 12_000;
/** What an outline shows of a text, of arguments or of a result: a line on a wide screen. */
export const OUTLINE_SAID_CHARS = 160;
/** Messages of a request that is shown to people, from its end; one message alone may be larger. Two requests come together, within Lambda's 6 MB. */
export const CALL_MESSAGES_BYTES = 2 * 1024 * 1024;

const relation = (holds: boolean, what: string): void => {
  if (!holds) throw new Error(`limits: ${what}`);
};
relation(LEASE_MS / HEARTBEATS_PER_LEASE >= 1_000, "a heartbeat at least a second apart");
relation(GUARDIAN_BACKOFF_MS < LEASE_MS, "the guardian looks again within a lease");
relation(PAYLOAD_INLINE_BYTES < PAYLOAD_MAX_BYTES, "inline payloads are the small ones");
relation(VISIBILITY_MS > LEASE_MS, "a message outlives the lease of its first reader");
relation(DRAIN_MS < LEASE_MS, "a worker has stopped before its leases run out");
relation(
  ELIDE_AT_PERCENT < FOLD_AT_PERCENT && FOLD_AT_PERCENT < WINDOW_FULL_AT_PERCENT,
  "the cheaper way to make room comes first",
);
relation(FOLD_AT_PERCENT + SUMMARY_WINDOW_PERCENT < 100, "a summary's answer fits beside what it is of");
relation(QUEUE_BATCH_MESSAGES <= 10, "SQS hands out ten messages at most");
relation(QUEUE_DELAY_MAX_MS <= 15 * 60_000, "SQS delays by 15 minutes at most");
relation(TASK_INVOCATION_MS <= 15 * 60_000, "Lambda runs for 15 minutes at most");
relation(STEP_RESERVE_MS < TASK_INVOCATION_MS, "an invocation has time for a step");
relation(STEP_WHOLE_MS < TASK_INVOCATION_MS - CUT_OFF_MS, "an invocation has time for a whole step");
relation(STEP_TIMEOUT_MS + STEP_RESERVE_MS <= TICK_INVOCATION_MS, "a tick has time for a workflow's step");
relation(3 * AWS_CALL_MS < API_INVOCATION_MS, "a request ends before the gateway's, though AWS is away");
relation(MESSAGE_RETENTION_MS < DEAD_LETTER_RETENTION_MS, "a dead letter outlives the queue that gave it up");
relation(PULSE_MS < PULSE_LATE_MS && PULSE_LATE_MS < LEASE_MS, "a lost pulse is found within a lease");
relation(TOP_UP_UNTIL_MS > STEP_RESERVE_MS, "what is taken in late has time for a step");
relation(TIMER_EARLY_MS > 60_000 && TIMER_EARLY_MS < QUEUE_DELAY_MAX_MS, "a schedule's rest fits a queue's delay");
relation(IDLE_SESSION_TIMEOUT_MS > CONNECTION_IDLE_MS, "we drop an idle connection before the server does");
relation(FILE_IN_ROW_BYTES < FILE_MAX_BYTES, "files in rows are the small ones");
relation(FLOW_RETRY_MS >= LEASE_MS, "a dead holder's place is free when who waits looks again");
relation(FLOW_CALL_MS < FLOW_RETRY_MS, "a call is over before its stream looks by itself");
relation(LIVE_WATCH_RENEW_MS * 2 < LIVE_WATCH_MS, "one lost word of a watcher's is no end");
relation(LIVE_PIECE_CHARS * 6 + 500 < 8_000, "a piece fits a notification with what it is of");
relation(LIVE_PIECE_CHARS * 2 * 1.34 + 1_000 < 8_000, "so does a sealed one, with its key");
relation(LISTEN_PING_MS < IDLE_SESSION_TIMEOUT_MS, "who listens isn't idle");
relation(EVENTS_COMMENT_MS <= EVENTS_WAIT_MAX_MS, "a stream of events is made of long polls");
relation(COUNT_AFTER_MS < GUARDIAN_EVERY_MS, "every pass of the guardian adds what is worked on");
relation(CUT_OFF_MS < STEP_RESERVE_MS, "no step begins when it is about to be cut off");
