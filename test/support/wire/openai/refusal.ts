// A refusal as the API words it.

export interface Refusal {
  readonly status: number;
  readonly message: string;
  readonly type: string;
  readonly code: string | null;
  readonly param: string | null;
}

export const invalid = (message: string, param: string | null = null, code: string | null = null): Refusal => ({
  status: 400,
  message,
  type: "invalid_request_error",
  code,
  param,
});

export const errorBody = ({ message, type, code, param }: Omit<Refusal, "status">): object => ({
  error: { message, type, param, code },
});

export function firstOf<T>(items: Iterable<T>, rule: (item: T, i: number) => Refusal | null): Refusal | null {
  let i = 0;
  for (const item of items) {
    const found = rule(item, i++);
    if (found !== null) return found;
  }
  return null;
}

const STARTS: readonly (readonly [type: string, start: RegExp])[] = [
  ["image/png", /^\x89PNG/],
  ["image/jpeg", /^\xff\xd8/],
  ["image/gif", /^GIF8/],
  ["image/webp", /^RIFF....WEBP/s],
];

/** What a model would find wrong with a file's content. `place` is named in the error. */
export function fileProblem(url: string, place: string, images: boolean): Refusal | null {
  const [, type = "", data = ""] = /^data:([^;]+);base64,(.*)$/s.exec(url) ?? [];
  if (!images) return invalid("This model does not support image inputs.", place);
  if (type === "application/pdf") {
    const content = Buffer.from(data, "base64").toString("latin1");
    if (!content.slice(0, 1_024).includes("%PDF-"))
      return invalid("The file is not a valid PDF.", place, "invalid_file");
    return content.includes("/Encrypt") ? invalid("The PDF is password protected.", place, "invalid_file") : null;
  }
  const start = Buffer.from(data.slice(0, 64), "base64").toString("latin1");
  const found = STARTS.find(([known]) => known === type)?.[1].test(start) ?? false;
  const wrong = !found || Buffer.from(data, "base64").byteLength < 20;
  return wrong
    ? invalid("The image data you provided does not represent a valid image.", place, "invalid_image")
    : null;
}

export const FILES_CHARS_MAX = 50 * 1024 * 1024;
export const tooMuch = (chars: number): Refusal | null =>
  chars > FILES_CHARS_MAX ? { ...invalid("The files of this request are too large."), status: 413 } : null;
