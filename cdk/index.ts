// What `toren/cdk` is in an app of a user's own: the construct, its options, and the error that says what is wrong with them.
export type { StageSettings } from "./api.ts";
export type { DatabaseSettings } from "./database.ts";
export { StackProblem } from "./problem.ts";
export type { DatabaseClass, ProfileName } from "./profile.ts";
export { Toren, type TorenProps } from "./toren.ts";
