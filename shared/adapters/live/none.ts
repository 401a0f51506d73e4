// Nobody watches: for workers that no reader can reach, as in an author's tests.
import type { LiveOut } from "../../ports/live.ts";

export const NOBODY_WATCHES: LiveOut = {
  heed: () => {},
  isWatched: () => false,
  grew: () => {},
  call: () => ({ show: () => {}, end: () => {} }),
  rest: async () => {},
  close: async () => {},
};
