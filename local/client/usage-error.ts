/** What was asked for can't be: exit 2, without a code of the error table. */
export class UsageError extends Error {}
