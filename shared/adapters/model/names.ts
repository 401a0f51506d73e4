// A model under a longer name: providers add dates and versions. Never a wrong family: `gpt-5` says nothing about `gpt-5-mini` or `gpt-5.1`.

/** `-latest`, a date in one of two spellings, Bedrock's `-v1:0`; nothing else may follow a known name. */
const VERSION = /^(-latest|[-@]\d{8}|-\d{4}-\d{2}-\d{2})?(-v\d+(:\d+)?)?$/;

const isVersionOf = (name: string, known: string): boolean =>
  name.startsWith(known) && VERSION.test(name.slice(known.length));

/** What is known under a model's name, or under the name that it is a version of; null: nothing. */
export function knownUnder<T>(known: Readonly<Record<string, T>>, name: string): T | null {
  if (Object.hasOwn(known, name)) return known[name] ?? null;
  const bases = Object.keys(known).filter((base) => isVersionOf(name, base));
  const base = bases.sort((a, b) => b.length - a.length)[0];
  return base === undefined ? null : (known[base] ?? null);
}
