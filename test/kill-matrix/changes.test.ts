// Edits, retries runs with children, and runs that go on anew, each killed after every write (rows.ts).
import { CHILDREN } from "./children.ts";
import { EDITS } from "./edits.ts";
import { ENDLESS } from "./endless.ts";
import { RETRIES } from "./retries.ts";
import { killMatrix } from "./rows.ts";

killMatrix([...EDITS, ...RETRIES, ...CHILDREN, ...ENDLESS]);
