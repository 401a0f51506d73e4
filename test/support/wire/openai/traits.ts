// What the models of these tests take, in the API's own terms and not in the adapter's.

export interface Traits {
  readonly reasons: boolean;
  /** Takes temperature and top_p while it doesn't reason. */
  readonly calmSampling: boolean;
  /** It says of its messages whether they are commentary or the final answer. */
  readonly phases: boolean;
  readonly images: boolean;
}

export function traitsOf(model: string): Traits {
  const reasons = /^(o\d|gpt-5(?!-chat)|gpt-6)/.test(model);
  return {
    reasons,
    calmSampling: /^gpt-(5\.\d|6)/.test(model),
    phases: /^gpt-(5\.[6-9]|6)/.test(model),
    images: !/^(gpt-3\.5|o1-mini|o3-mini)/.test(model),
  };
}

/** What no model that reasons takes beside it. */
export function settingsProblem(model: string, body: object, effort: string | undefined): string | null {
  const { reasons, calmSampling } = traitsOf(model);
  if (!reasons && effort !== undefined)
    return "Unsupported parameter: 'reasoning.effort' is not supported with this model.";
  const off = calmSampling && effort === "none";
  const found = ["temperature", "top_p", "presence_penalty", "frequency_penalty", "logit_bias"].find(
    (name) => name in body,
  );
  if (reasons && !off && found !== undefined)
    return `Unsupported parameter: '${found}' is not supported with this model.`;
  return reasons && !calmSampling && "stop" in body
    ? "Unsupported parameter: 'stop' is not supported with this model."
    : null;
}
