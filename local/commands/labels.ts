// --label key=value: what people find runs by; the API calls them attributes.
import { InvalidArgumentError } from "commander";
import { ATTRIBUTE_KEY } from "../../shared/core/terms.ts";

export type Labels = Readonly<Record<string, string>>;

/** Collects them; one that is given twice is a mistake, and not the last one. */
export function collectLabel(text: string, before: Labels = {}): Labels {
  const at = text.indexOf("=");
  const [key, value] = [text.slice(0, at), text.slice(at + 1)];
  if (at < 1 || value === "") throw new InvalidArgumentError("A label is written as key=value.");
  if (!ATTRIBUTE_KEY.test(key))
    throw new InvalidArgumentError(
      "A label's key begins with a letter, then letters, digits, `_`, `.`, `-`: 40 at most.",
    );
  if (Object.hasOwn(before, key)) throw new InvalidArgumentError(`The label "${key}" is given twice.`);
  return { ...before, [key]: value };
}
