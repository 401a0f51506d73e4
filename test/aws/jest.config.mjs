// The tests that need an AWS emulator: `npm run test:aws`. Their names end in `.aws.ts`, so that `npm test` leaves them alone.
import base from "../../jest.config.mjs";

/** They take minutes: environments that are frozen for longer than anything lives, and deploys of a second version. */
const FULL_ONLY = ["frozen", "versions"];

/** @type {import("jest").Config} */
export default {
  ...base,
  rootDir: "../..",
  testMatch: ["<rootDir>/test/aws/**/*.aws.ts"],
  testPathIgnorePatterns:
    process.env.TOREN_TEST_AWS_FULL === "1" ? [] : FULL_ONLY.map((name) => `/test/aws/stack/${name}\\.aws\\.ts$`),
  globalSetup: "<rootDir>/test/aws/support/setup.ts",
  globalTeardown: "<rootDir>/test/aws/support/teardown.ts",
  testTimeout: 120_000,
  testSequencer: "<rootDir>/test/aws/support/last.mjs",
  maxWorkers: 1,
};
