// The last line of defence, not the first: records hold ids, codes and numbers, but an error's message is somebody else's text. What looks like a secret
// doesn't leave the process in a log line.

/** Each with what stands for it: enough to see what kind it was. */
const SECRETS: readonly (readonly [RegExp, string])[] = [
  // Of a URL: postgres://user:password@host
  [/(\b[a-z][a-z0-9+.-]*:\/\/[^\s:/?#@]*):[^\s/?#]+@/gi, "$1:***@"],
  [/\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{8,}/gi, "$1 ***"],
  // Keys of providers, of ours and of channels, by how they begin.
  [/\b(sk|pk|rk|toren|ghp|gho|ghu|ghs|ghr|github_pat|glpat|xox[abprs])([-_])[A-Za-z0-9_-]{12,}/g, "$1$2***"],
  [/\b(AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{12,}/g, "$1***"],
  [/(?<!\d)\d{6,12}:[A-Za-z0-9_-]{30,}/g, "***"], // a Telegram bot's
  [/\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]*)?/g, "eyJ***"], // a JSON Web Token
  // Named: password=…, X-Amz-Signature=…, "api_key": "…"
  [
    /\b((?:pass(?:word|wd|phrase)?|secret|token|api[-_]?key|access[-_]?key|x-amz-(?:signature|credential|security-token))["']?\s*[=:]\s*["']?)[^\s"'&,;}]{4,}/gi,
    "$1***",
  ],
];

export const redacted = (text: string): string =>
  SECRETS.reduce((clean, [pattern, stand]) => clean.replace(pattern, stand), text);
