import { isRunning, type ServerRecord } from "../state.ts";
import { isHealthy } from "./api.ts";

/** Whether a noted server still is one: process ids are given out again, so it has to answer too. */
export const isAlive = async (record: ServerRecord): Promise<boolean> =>
  isRunning(record.pid) && (await isHealthy(record.url));
