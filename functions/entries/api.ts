// The function behind API Gateway, for all routes but the events of a run.
import { type ApiAnswer, type ApiEvent, appOf, appWithout, createApiHandler } from "../api.ts";
import { type Handle, lambda } from "../lambda.ts";

export const handler: Handle<ApiEvent, ApiAnswer> = lambda({
  name: "api",
  make: (aws) => createApiHandler(appOf(aws)),
  unready: ({ thrown, event, context }) => createApiHandler(appWithout(thrown))(event, context),
});
