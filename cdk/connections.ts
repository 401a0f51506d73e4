// Who may have how many connections to the database. Each function is a user of its own with a limit, so that a burst of one can't shut the others out.
// A deploy runs two versions for a while, the old one's connections among them until they were idle for a minute: a user's limit is twice what one version
// may need, and all limits together stay below what the server takes, less a few for people and for AWS.
import {
  FUNCTION_APPEND_CONNECTIONS,
  FUNCTION_POOL_CONNECTIONS,
  GUARDIAN_POOL_CONNECTIONS,
} from "../shared/core/limits.ts";
import { StackProblem } from "./problem.ts";

/** Database users, by what they are for. migrate is the master user: it has no limit, but is counted. */
export const DATABASE_USERS = {
  tick: "toren_tick",
  task: "toren_task",
  guardian: "toren_guardian",
  "dead-letter": "toren_dead_letter",
  api: "toren_api",
  events: "toren_events",
  "long-task": "toren_long_task",
} as const;
export type DatabaseUserOf = keyof typeof DATABASE_USERS;

export interface ConnectionPlan {
  readonly maxConnections: number;
  /** By function, of one version. */
  readonly limits: Readonly<Record<DatabaseUserOf, number>>;
  /** Of migrate, which has no limit. */
  readonly master: number;
  /** Execution environments that a queue may feed at once. */
  readonly ticksAtOnce: number;
  readonly tasksAtOnce: number;
  readonly soloAtOnce: number;
  /** Workers for long tasks at once. */
  readonly longTasksMax: number;
}

/** Per GiB of the server's memory: a backend takes some 5 MB, and Postgres keeps a quarter for its buffers. */
const CONNECTIONS_PER_GIB = 120;
/** More backends than this need a pooler, which Toren's sessions can't use. */
const CONNECTIONS_MAX = 1_000;
/** For people with psql, for RDS itself, and for superusers. */
const SPARE_CONNECTIONS = 10;
/** What an execution environment opens at most. */
const OF_ENVIRONMENT = FUNCTION_APPEND_CONNECTIONS + FUNCTION_POOL_CONNECTIONS;
/** Of one that works on a single task. */
const OF_SOLO = 3;
/** The least that an event source mapping can be limited to. */
const MAPPING_MIN = 2;
/** Twice what an environment opens: a pass of the pulse and one of the schedule meet now and then. */
const GUARDIAN = 2 * GUARDIAN_POOL_CONNECTIONS;
const DEAD_LETTER = 2;
const MASTER = 3;

/** The old one and the new, side by side. */
const VERSIONS = 2;

/** Each user's CONNECTION LIMIT. */
export const connectionLimits = ({ limits }: ConnectionPlan): ConnectionPlan["limits"] =>
  Object.fromEntries(Object.entries(limits).map(([of, limit]) => [of, VERSIONS * limit])) as ConnectionPlan["limits"];

export const maxConnectionsOf = (memoryGib: number): number =>
  Math.min(CONNECTIONS_MAX, Math.floor(memoryGib * CONNECTIONS_PER_GIB));

/**
 * `onFargate`: short tasks are the workers', so Lambda's task function keeps the solo queue alone.
 * @throws StackProblem for a server that takes too few.
 */
export function planConnections(maxConnections: number, onFargate: boolean): ConnectionPlan {
  const all = Math.floor((maxConnections - SPARE_CONNECTIONS) / VERSIONS);
  const rest = all - GUARDIAN - DEAD_LETTER - MASTER;
  const share = (percent: number): number => Math.floor((rest * percent) / 100);
  const solo = MAPPING_MIN * OF_SOLO;
  const work = share(46);
  const task = onFargate ? solo : share(35);
  const limits = {
    tick: share(22),
    task,
    guardian: GUARDIAN,
    "dead-letter": DEAD_LETTER,
    api: share(22),
    events: share(10),
    "long-task": work - task,
  };
  const tasksAtOnce = onFargate ? 0 : Math.floor((task - solo) / OF_ENVIRONMENT);
  const plan: ConnectionPlan = {
    maxConnections,
    limits,
    master: MASTER,
    ticksAtOnce: Math.floor(limits.tick / OF_ENVIRONMENT),
    tasksAtOnce,
    soloAtOnce: MAPPING_MIN,
    longTasksMax: Math.floor(limits["long-task"] / OF_ENVIRONMENT),
  };
  const tooFew =
    plan.ticksAtOnce < MAPPING_MIN || (!onFargate && plan.tasksAtOnce < MAPPING_MIN) || plan.longTasksMax < 1;
  if (!tooFew) return plan;
  throw new StackProblem(
    `A database that takes ${maxConnections} connections is too small: Toren needs one that takes at least ${CONNECTIONS_PER_GIB}; choose a larger class, or raise its max_connections.`,
  );
}
