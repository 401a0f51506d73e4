// What a model of a family takes, told from its name: of the rules that the documentation gives for versions, not of a list of models.
export interface Traits {
  readonly line: string;
  readonly version: number;
  /** Ends a conversation with the user only, but for a paused turn. */
  readonly noPrefill: boolean;
  readonly noSampling: boolean;
  readonly bound: boolean;
  readonly noForcedTools: boolean;
  readonly thinkingTypes: readonly string[];
  /** Thinks without being asked, and hides it. */
  readonly thinks: boolean;
}

export function traitsOf(model: string): Traits {
  const [, line = "", major = "0", minor = "0"] = /^claude-([a-z]+)-(\d+)(?:-(\d)(?!\d))?/.exec(model) ?? [];
  const version = Number(`${major}.${minor}`);
  const grand = line === "fable" || line === "mythos";
  const bound = version >= 5.5 || (grand && version >= 5.1);
  const always = grand || (line === "opus" && version >= 5.5);
  return {
    line,
    version,
    noPrefill: version >= 4.6,
    noSampling: version >= 4.7,
    bound,
    noForcedTools: bound && line !== "haiku",
    thinks: version >= 5,
    thinkingTypes: thinkingTypes(line, version, always),
  };
}

function thinkingTypes(line: string, version: number, always: boolean): readonly string[] {
  if (always) return ["adaptive"];
  if (line === "sonnet" && version >= 5.5) return ["adaptive", "between_tools"];
  if (version >= 4.7) return ["adaptive", "disabled"];
  if (version >= 4.6) return ["adaptive", "enabled", "disabled"];
  return ["enabled", "disabled"];
}
