// Tasks, waves, timers and steps, each killed after every write (rows.ts).
import { killMatrix } from "./rows.ts";
import { SCENARIOS } from "./scenarios.ts";

killMatrix(SCENARIOS);
