// The API from outside, by tools of PyPI: `npm run test:api`. The tests' names end in `.api.ts`, so that `npm test` leaves them alone.
import base from "../../jest.config.mjs";

/** @type {import("jest").Config} */
export default {
  ...base,
  rootDir: "../..",
  testMatch: ["<rootDir>/test/api/**/*.api.ts"],
  testTimeout: 240_000,
  maxWorkers: 1,
};
