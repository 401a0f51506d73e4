// The console's files as they lie beside a bundle, where cdk/build.ts puts them. Read when somebody opens the page, once a process.
import { readdir, readFile } from "node:fs/promises";
import { mediaTypeOf, type StaticFile, type StaticFiles } from "../shared/http/static-files.ts";

/** Of a file's compressed form beside it. */
const ZIPPED = ".gz";

export function bundledConsole(folder = new URL("./console/", import.meta.url)): () => Promise<StaticFiles> {
  let read: Promise<StaticFiles> | undefined;
  return () => {
    read ??= readAll(folder);
    return read;
  };
}

async function readAll(folder: URL): Promise<StaticFiles> {
  // A function without them answers as if there were no console.
  const names = await readdir(folder).catch((): string[] => []);
  const bytes = async (name: string): Promise<Uint8Array<ArrayBuffer>> =>
    new Uint8Array(await readFile(new URL(name, folder)));
  const files = names
    .filter((name) => !name.endsWith(ZIPPED))
    .map(async (name): Promise<[string, StaticFile]> => {
      const gzip = names.includes(name + ZIPPED) ? await bytes(name + ZIPPED) : null;
      return [name, { mediaType: mediaTypeOf(name), content: await bytes(name), gzip }];
    });
  return new Map(await Promise.all(files));
}
