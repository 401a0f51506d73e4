// Names of a run's streams: `run`, and `task:<taskId>`.

const TASK = "task:";
export const streamIdOf = (taskId: string | null): string => (taskId === null ? "run" : TASK + taskId);
/** Null: the run's own. */
export const taskIdOf = (streamId: string): string | null => (streamId === "run" ? null : streamId.slice(TASK.length));
