// Jest's globalTeardown: the last run that uses the embedded server ends it.
import { releaseServer } from "./held-server.ts";

export default releaseServer;
