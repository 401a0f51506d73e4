/** What a key may do: look, start and steer runs, decide what waits for a person, everything. */
export const SCOPES = ["read", "run", "approve", "admin"] as const;
export type Scope = (typeof SCOPES)[number];
