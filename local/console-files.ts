// The console as a laptop serves it: built from its sources when somebody opens it, once a process. There is no step to forget.
import type { StaticFiles } from "../shared/http/static-files.ts";

export function consoleFiles(): () => Promise<StaticFiles> {
  let built: Promise<StaticFiles> | undefined;
  return () => {
    built ??= build().catch((e) => {
      built = undefined; // a source that was broken may be mended
      throw e;
    });
    return built;
  };
}

/** esbuild is loaded by whoever opens the page, and nobody else. */
async function build(): Promise<StaticFiles> {
  const { buildConsole } = await import("../console/build.ts");
  return await buildConsole();
}
