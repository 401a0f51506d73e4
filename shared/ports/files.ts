// Files that users attach to runs. Twin on AWS: S3 above 4 MiB.
export interface FileInfo {
  readonly id: string;
  readonly name: string;
  readonly mediaType: string;
  readonly bytes: number;
}

export interface Files {
  /** Idempotent by content and name: the same file twice has one id. Names are labels, never paths. */
  add(file: { name: string; mediaType: string; content: Uint8Array }): Promise<FileInfo>;
  /** In the order of `ids`; unknown ids are left out. */
  list(ids: readonly string[]): Promise<FileInfo[]>;
  content(id: string): Promise<Uint8Array | null>;
}
