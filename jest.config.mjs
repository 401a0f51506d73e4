/** @type {import("jest").Config} */
export default {
  testEnvironment: "node",
  extensionsToTreatAsEsm: [".ts"],
  transform: {
    "^.+\\.ts$": [
      "@swc/jest",
      { jsc: { parser: { syntax: "typescript" }, target: "es2024" }, module: { type: "es6" } },
    ],
  },
  testMatch: ["<rootDir>/test/**/*.test.ts", "<rootDir>/agents/**/*.test.ts"],
  modulePathIgnorePatterns: ["<rootDir>/.toren", "<rootDir>/cdk.out", "<rootDir>/dist"],
  globalSetup: "<rootDir>/test/support/global-setup.ts",
  globalTeardown: "<rootDir>/test/support/global-teardown.ts",
  testSequencer: "<rootDir>/test/support/longest-first.mjs",
  testTimeout: 30_000,
  maxWorkers: 2,
};
