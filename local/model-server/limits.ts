/** The bounds of the model server, unit last. They are its own: nothing in the runtime depends on them. */

/** Time an answer takes, unless told otherwise: about what a small hosted model takes for a short answer. */
export const DEFAULT_MIN_LATENCY_MS = 300;
export const DEFAULT_MAX_LATENCY_MS = 800;
export const MAX_LATENCY_MS = 60_000;

/** OpenAI's rule of thumb for English text; a real tokenizer would add nothing here. */
export const CHARS_PER_TOKEN = 4;

export const MAX_REQUEST_BYTES = 32 * 1024 * 1024;
export const MAX_TOOLS_COUNT = 128;
export const MAX_SCHEMA_DEPTH_LEVELS = 8;

/** After so many answers that call tools, the next one is text. */
export const MAX_TOOL_ROUNDS_COUNT = 3;
export const MAX_SEARCHES_PER_ROUND_COUNT = 2;
export const MAX_READS_PER_ROUND_COUNT = 3;
export const MAX_SEARCH_TERMS_COUNT = 6;
/** A reader is asked for a window of this many lines, which starts a few before the line in question. */
export const READ_WINDOW_LINES = 16;
export const READ_LEAD_LINES = 4;

export const MAX_TOPICS_COUNT = 5;
export const MAX_QUOTES_PER_TOPIC_COUNT = 3;
export const MIN_SENTENCE_CHARS = 40;
export const MAX_SENTENCE_CHARS = 420;
/** A longer tool result that shows no file is not passed on. */
export const MAX_RESULT_CHARS = 500;
/** A longer pattern of a schema is not tried. */
export const MAX_PATTERN_CHARS = 200;
export const MAX_PHRASE_CHARS = 90;
/** A request that holds more is ranked on the first so many; keeps an answer within its latency. */
export const MAX_RANKED_SENTENCES_COUNT = 20_000;
