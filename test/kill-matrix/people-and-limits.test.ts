// What waits for people, and what windows, budgets and gates bound, each killed after every write (rows.ts).
import { LIMITS } from "./limits.ts";
import { PEOPLE } from "./people.ts";
import { killMatrix } from "./rows.ts";

killMatrix([...PEOPLE, ...LIMITS]);
