// The tick function's bundle starts here.
import { createTickHandler } from "../../functions/tick.ts";
import { compose } from "./compose.ts";

export const handler = createTickHandler({ engine: compose(), stop: new AbortController().signal });
