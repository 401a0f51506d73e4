// The order of the files: by path, and iam.aws.ts last, which looks at what all others made functions do.
const last = ({ path }) => Number(path.endsWith("iam.aws.ts"));

export default class IamLast {
  sort(tests) {
    return [...tests].sort((a, b) => last(a) - last(b) || (a.path < b.path ? -1 : 1));
  }
  shard(tests) {
    return tests;
  }
  allFailedTests(tests) {
    return tests;
  }
  cacheResults() {}
}
