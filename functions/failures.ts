// What handlers say of a failure, in their log.
import type { MiddlewareObj } from "@middy/core";
import { messageOf, TorenError } from "../shared/core/errors.ts";
import type { Log, LogFields } from "../shared/ports/log.ts";

/** Middleware: one line an invocation that failed as a whole; single messages have lines of their own. */
export const logFailure = (log: Log, handler: string): MiddlewareObj => ({
  onError: (request) => {
    log.error("handler failed", { handler, requestId: request.context.awsRequestId, ...failureFields(request.error) });
  },
});

/** For the log. What isn't an error of ours is a bug: its name and message are what there is to find it by. What authors' code throws never comes here. */
export function failureFields(thrown: unknown): LogFields {
  if (thrown instanceof TorenError) return { code: thrown.code, error: thrown.message };
  return { code: "bug", error: thrown instanceof Error ? `${thrown.name}: ${messageOf(thrown)}` : typeof thrown };
}
