// Where the page is, as the address says it: all of it behind the `#`, so that one file serves every place and no server sees what is looked at.

export interface Route {
  /** `runs`, `chat`, …; an empty address is `overview`. */
  readonly page: string;
  /** What of it: a run's id. */
  readonly id: string | null;
  readonly query: Readonly<Record<string, string>>;
}

export function parseRoute(hash: string): Route {
  const [path = "", search = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  const [page = "", id = ""] = path.split("/");
  return {
    page: page === "" ? "overview" : decoded(page),
    id: id === "" ? null : decoded(id),
    query: Object.fromEntries(new URLSearchParams(search)),
  };
}

/** The address of a place; what is empty in the query is left out. */
export function href(
  page: string,
  id: string | null = null,
  query: Readonly<Record<string, string | null>> = {},
): string {
  const given = Object.entries(query).filter(
    (entry): entry is [string, string] => entry[1] !== null && entry[1] !== "",
  );
  const search = given.length === 0 ? "" : `?${new URLSearchParams(given)}`;
  const path = page === "overview" ? "" : page;
  return `#/${path}${id === null ? "" : `/${encodeURIComponent(id)}`}${search}`;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // somebody typed it
  }
}
