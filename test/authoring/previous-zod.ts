// Loaded before a program (`node --import`): whoever imports zod gets the release before, as in a project that hasn't upgraded yet. It says which on stderr.
import { registerHooks } from "node:module";

registerHooks({
  resolve: (specifier, context, next) =>
    next(/^zod(\/|$)/.test(specifier) ? specifier.replace("zod", "zod-previous") : specifier, context),
});

const { major, minor, patch } = (await import("zod")).core.version;
process.stderr.write(`${major}.${minor}.${patch}`);
