// The order of the files: by path, and iam.aws.ts last, which looks at what all others made functions do.
import { inOrder } from "../../support/in-order.mjs";

export default inOrder((path) => Number(path.endsWith("iam.aws.ts")));
