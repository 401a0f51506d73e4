// Jest's globalTeardown of the AWS tests.
import { closeAll } from "./setup.ts";

export default closeAll;
