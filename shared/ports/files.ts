// Files that users attach to runs, and the reader of those that aren't text. Twin on AWS: S3 above 4 MiB.
export interface FileInfo {
  readonly id: string;
  readonly name: string;
  readonly mediaType: string;
  readonly bytes: number;
  /** Of a PDF; null: it has none. */
  readonly pages: number | null;
}

export interface NewFile {
  readonly name: string;
  readonly mediaType: string;
  readonly content: Uint8Array;
  /** Of a PDF: kept beside the content, so that it is parsed once. */
  readonly pageTexts?: readonly string[];
}

export interface FilesPage {
  readonly files: readonly (FileInfo & { readonly createdAt: number })[];
  /** Opaque; null: there are no more. */
  readonly next: string | null;
}

export type Removed =
  | { readonly type: "removed" }
  | { readonly type: "unknown" }
  /** To this run, which hasn't ended. Nothing was removed. */
  | { readonly type: "attached"; readonly agent: string; readonly runId: string };

/** A place for one file that is too large for a request. */
export interface Upload {
  readonly id: string;
  /** Takes a PUT of the content, of exactly the bytes that it was asked for, once or again. */
  readonly url: string;
  readonly expiresInMs: number;
}

export interface Uploads {
  /** @throws TorenError `files.unavailable` */
  begin(bytes: number): Promise<Upload>;
  /** What was put there; null: nothing was, or it is forgotten, a day later. @throws TorenError `files.unavailable`, `request.too_large` */
  read(id: string): Promise<Uint8Array | null>;
  /** Idempotent. Never rejects: what is left is forgotten. */
  drop(id: string): Promise<void>;
}

export interface Files {
  /** Null: whoever takes a request takes its file, of whatever size. */
  readonly uploads: Uploads | null;
  /** Idempotent by content and name: the same file twice has one id. Names are labels, never paths. */
  add(file: NewFile): Promise<FileInfo>;
  /** In the order of `ids`; unknown ids are left out. */
  list(ids: readonly string[]): Promise<FileInfo[]>;
  /** All there are, newest first. @throws TorenError `request.invalid` for a cursor that isn't ours. */
  page(request: { readonly limit: number; readonly before?: string }): Promise<FilesPage>;
  content(id: string): Promise<Uint8Array | null>;
  /** The page texts it was added with, as `joinPages` joins them (core/text-files.ts); null: none, or no such file. */
  pageText(id: string): Promise<string | null>;
  /** Not while a run that hasn't ended has it. Idempotent. A run that is being started at this very moment may find it gone. */
  remove(id: string): Promise<Removed>;
  /** Only if no run has it, ended or not. Idempotent. False: it stays, or there was none. */
  forget(id: string): Promise<boolean>;
}

export type PdfText =
  | { readonly ok: true; readonly pageTexts: readonly string[] }
  /** `reason` goes on after "it ": "is encrypted: …". */
  | { readonly ok: false; readonly reason: string };

/** Bounded in time, memory, pages and characters (core/limits.ts). Never throws for what the bytes are. */
export type ReadPdf = (content: Uint8Array) => Promise<PdfText>;
