// Every bound of the product (I11): the unit stands last in the name, the reason beside it. Relations are asserted when the module loads.

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
export const GUARDIAN_BATCH_STREAMS = 500;
/** A worker that must not touch a stream (older generation, unknown event, cut storm) sends its hint on with this delay (I7). */
export const DEFER_MS = 20_000;

/** Items of one group commit: past some hundred the statement's planning grows faster than the saved round trips (measured). */
export const COMMIT_BATCH_ITEMS = 128;
export const COMMIT_BATCH_BYTES = 4 * 1024 * 1024;
/** Flushes under way at once per agent schema and worker. */
export const COMMIT_FLUSHES = 2;

/** A payload's field above this goes to the blobs table. 256 KiB is also the limit of an SQS message, so nothing above it ever rode on one. */
export const PAYLOAD_INLINE_BYTES = 256 * 1024;
export const PAYLOAD_MAX_BYTES = 16 * 1024 * 1024;
export const REQUEST_BODY_BYTES = 1024 * 1024;
export const FILE_MAX_BYTES = 32 * 1024 * 1024;
/** Wave results that one append of the run's stream carries at most. */
export const SETTLE_CHUNK_BYTES = COMMIT_BATCH_BYTES;

export const WAVE_TASKS_MAX = 1_000;
export const OPERATIONS_MAX = 10_000;
export const STEPS_PARALLEL_MAX = 16;
export const STEP_ATTEMPTS_DEFAULT = 3;
export const STEP_TIMEOUT_MS = 5 * 60_000;
export const STEP_BACKOFF_MS = 1_000;
export const STEP_BACKOFF_MAX_MS = 60_000;

export const MAX_STEPS_DEFAULT = 50;
export const MAX_TOKENS_DEFAULT = 8_192;
export const TOOL_TIMEOUT_MS = 5 * 60_000;
export const TOOL_CALLS_PER_ANSWER_MAX = 128;
export const MODEL_TIMEOUT_MS = 10 * 60_000;
/** Tries of one model call within one worker; past them the call has failed. */
export const MODEL_TRIES = 6;
export const MODEL_BACKOFF_MS = 500;
export const MODEL_BACKOFF_MAX_MS = 20_000;
/** A provider that pauses a turn (`pause`) is asked to go on this often in a row. */
export const PAUSES_MAX = 10;

/** Cuts of one stream by one generation in CUT_STORM_WINDOW_MS; one more is a digest that isn't stable (I7). */
export const CUT_STORM_CUTS = 3;
export const CUT_STORM_WINDOW_MS = 5 * 60_000;
/** Acquisitions without progress after which a stream runs alone in its worker, and deaths alone after which it fails. */
export const CRASHES_BEFORE_SOLO = 3;
export const CRASHES_ALONE_MAX = 3;

/** Receives of one queue message before it is a dead letter. */
export const RECEIVES_MAX = 5;
export const VISIBILITY_MS = 60_000;
export const QUEUE_BATCH_MESSAGES = 10;
export const TASKS_PER_WORKER = 10;
export const NACK_MS = 200;
export const QUEUE_BACKOFF_MAX_MS = 30_000;

/** A long-polled page of events waits at most this long. API Gateway ends a request after 29 s. */
export const EVENTS_WAIT_MAX_MS = 20_000;
export const EVENTS_PAGE = 500;
export const RUNS_PAGE = 50;
export const RUNS_PAGE_MAX = 200;

const relation = (holds: boolean, what: string): void => {
  if (!holds) throw new Error(`limits: ${what}`);
};
relation(LEASE_MS / HEARTBEATS_PER_LEASE >= 1_000, "a heartbeat at least a second apart");
relation(GUARDIAN_BACKOFF_MS < LEASE_MS, "the guardian looks again within a lease");
relation(PAYLOAD_INLINE_BYTES < PAYLOAD_MAX_BYTES, "inline payloads are the small ones");
relation(VISIBILITY_MS > LEASE_MS, "a message outlives the lease of its first reader");
relation(QUEUE_BATCH_MESSAGES <= 10, "SQS hands out ten messages at most");
