// The order of the test files: those that take longest first, so that no processor is left with one of them at the end; then by path.
import { inOrder } from "./in-order.mjs";

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

export default inOrder((path) => {
  const found = LONG.findIndex((name) => name.test(path));
  return found < 0 ? LONG.length : found;
});
