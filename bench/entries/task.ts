// The task function's bundle starts here.
import { createTaskHandler } from "../../functions/task.ts";
import { compose } from "./compose.ts";

export const handler = createTaskHandler({ engine: compose(), stop: new AbortController().signal });
