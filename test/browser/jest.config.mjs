// The tests in a browser: `npm run test:browser`. Their names end in `.browser.ts`, so that `npm test` leaves them alone.
import base from "../../jest.config.mjs";

/** @type {import("jest").Config} */
export default {
  ...base,
  rootDir: "../..",
  testEnvironment: "<rootDir>/test/browser/environment.mjs",
  testMatch: ["<rootDir>/test/browser/**/*.browser.ts"],
  testTimeout: 120_000,
  maxWorkers: 1,
};
