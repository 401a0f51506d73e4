// What functions asked of AWS, as the emulator wrote it down (emulator/recorder.py).
import { readFileSync } from "node:fs";

export interface RecordedCall {
  /** The function's name on the emulator. */
  readonly function: string;
  readonly service: string;
  readonly operation: string;
  /** Of the answer, by HTTP. */
  readonly status: number;
  readonly parameters: Readonly<Record<string, unknown>>;
}

export const recordedCalls = (): RecordedCall[] =>
  readFileSync(process.env.TOREN_TEST_AWS_CALLS ?? "", "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as RecordedCall);
