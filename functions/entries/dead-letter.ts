// The function that consumes the dead-letter queue. It needs a database and nothing else.
import { createDeadLetters } from "../../shared/adapters/queue/dead-letters.ts";
import { openDatabase } from "../aws-database.ts";
import { createDeadLetterHandler } from "../dead-letter.ts";
import { createJsonLog } from "../log.ts";
import type { SqsHandler } from "../sqs-batch.ts";

const log = createJsonLog({ function: "dead-letter" });
let handle: Promise<SqsHandler> | undefined;

export const handler: SqsHandler = async (event, context) => {
  handle ??= openDatabase(process.env).then((database) =>
    createDeadLetterHandler({ deadLetters: createDeadLetters(database), log }),
  );
  handle.catch(() => {
    handle = undefined; // anew at the next invocation
  });
  return await (await handle)(event, context);
};
