// The order of the test files: those that take longest first, so that no processor is left with one of them at the end; then by path.
const LONG = [
  /kill-matrix/,
  /test\/sim\//,
  /test\/processes\//,
  /test\/cdk\//,
  /local\/(aws|chaos|demo|init)/,
  /test\/live\//,
  /bench/,
  /repo\/docs/,
];
const rank = ({ path }) => {
  const found = LONG.findIndex((name) => name.test(path));
  return found < 0 ? LONG.length : found;
};

export default class LongestFirst {
  sort(tests) {
    return [...tests].sort((a, b) => rank(a) - rank(b) || (a.path < b.path ? -1 : 1));
  }
  shard(tests) {
    return tests;
  }
  allFailedTests(tests) {
    return tests;
  }
  cacheResults() {}
}
