import { fromStored, type Json, toStored } from "../../shared/core/json.ts";

/** The value as a jsonb column gives it back. */
export const stored = <T>(value: T): T =>
  fromStored(JSON.parse(JSON.stringify(toStored(value as Json))) as Json) as unknown as T;
