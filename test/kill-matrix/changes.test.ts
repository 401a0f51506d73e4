// Edits, retries and runs with children, each killed after every write (rows.ts).
import { CHILDREN } from "./children.ts";
import { EDITS } from "./edits.ts";
import { RETRIES } from "./retries.ts";
import { killMatrix } from "./rows.ts";

killMatrix([...EDITS, ...RETRIES, ...CHILDREN]);
