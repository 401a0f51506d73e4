// The tests that need an AWS emulator: `npm run test:aws`. Their names end in `.aws.ts`, so that `npm test` leaves them alone.
import base from "../../jest.config.mjs";

/** @type {import("jest").Config} */
export default {
  ...base,
  rootDir: "../..",
  testMatch: ["<rootDir>/test/aws/**/*.aws.ts"],
  globalSetup: "<rootDir>/test/aws/support/setup.ts",
  globalTeardown: "<rootDir>/test/aws/support/teardown.ts",
  testTimeout: 120_000,
  testSequencer: "<rootDir>/test/aws/support/last.mjs",
  maxWorkers: 1,
};
