// What is wrong with an agent: data, not exceptions. A loader reports everything it finds; what was loaded before keeps running.
export interface LoadProblem {
  readonly code: "agent.invalid" | "not_in_this_version";
  /** The agent's folder; empty where no agent is to blame. */
  readonly agent: string;
  /** As the loader was given it, for people and editors. */
  readonly file: string;
  /** From 1; null: the whole file. */
  readonly line: number | null;
  /** What is wrong and what to do. */
  readonly message: string;
}

/** `agents/crew/agent.yaml:3: unknown key "modle"; did you mean "model"?` */
export const problemText = ({ file, line, message }: LoadProblem): string =>
  `${file}${line === null ? "" : `:${line}`}: ${message}`;
