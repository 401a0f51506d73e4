// `toren/client`: a typed client of the HTTP API. docs/how-to/use-the-client.md shows how it is used.
export {
  type CallDecision,
  type Client,
  type CutDecision,
  createClient,
  type DeadLettersPage,
  type FilesPage,
  type Fork,
  type NewMessage,
  type NewRun,
  type Retry,
  type RunsPage,
  type StartedRun,
  type WaitOptions,
} from "./client.ts";
export type { StreamItem } from "./event-stream.ts";
export { ApiError, type Query, type TransportOptions } from "./transport.ts";
