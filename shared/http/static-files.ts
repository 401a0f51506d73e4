// The console's files: a page, its script, its style, its fonts. They are open, since there is nothing in them; data needs a key.
import type { MiddlewareHandler } from "hono";

export interface StaticFile {
  readonly mediaType: string;
  readonly content: Uint8Array<ArrayBuffer>;
  /** The same, compressed; null: it wouldn't be smaller. */
  readonly gzip: Uint8Array<ArrayBuffer> | null;
}

/** By name. `index.html` is the page; every other name holds the hash of its content. */
export type StaticFiles = ReadonlyMap<string, StaticFile>;

const MEDIA_TYPES: Readonly<Record<string, string>> = {
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  svg: "image/svg+xml",
  woff2: "font/woff2",
};

export const mediaTypeOf = (name: string): string =>
  MEDIA_TYPES[name.slice(name.lastIndexOf(".") + 1)] ?? "application/octet-stream";

const PAGE = "index.html";
/** Below the page, so that no route of the API can ever have their names. */
const FOLDER = "/console/";

/**
 * Whatever a model, a tool or a person wrote is text here: no script but ours runs, no markup is made from strings (Trusted Types), nothing is loaded from
 * elsewhere, nothing is sent elsewhere, and no other site may frame it.
 */
export const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "font-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

const SECURITY = {
  "content-security-policy": CONTENT_SECURITY_POLICY,
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "permissions-policy": "camera=(), geolocation=(), microphone=()",
};

/** Answers for the page and its files; hands on whatever it doesn't know. */
export function staticFiles(load: () => Promise<StaticFiles>, basePath: string): MiddlewareHandler {
  return async (c, next) => {
    if (c.req.method !== "GET" && c.req.method !== "HEAD") return await next();
    const path = c.req.path.slice(basePath.length);
    const name = path === "/" || path === "" ? PAGE : path.startsWith(FOLDER) ? path.slice(FOLDER.length) : null;
    const file = name === null ? undefined : (await load()).get(name);
    if (file === undefined) return await next();
    const zipped = file.gzip !== null && (c.req.header("accept-encoding") ?? "").includes("gzip") ? file.gzip : null;
    return new Response(c.req.method === "HEAD" ? null : (zipped ?? file.content), {
      headers: {
        ...SECURITY,
        "content-type": file.mediaType,
        "cache-control": name === PAGE ? "no-cache" : "public, max-age=31536000, immutable",
        vary: "accept-encoding",
        ...(zipped === null ? {} : { "content-encoding": "gzip" }),
      },
    });
  };
}
