// Where a list of files goes on: after the time, to the microsecond, and id of the last one shown.
import { TorenError } from "../../core/errors.ts";

const PLACE = /^\d{4,6}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/;
const ID = /^file_[0-9a-f]{32}$/;

export interface Place {
  readonly place: string;
  readonly id: string;
}

export const encodeCursor = ({ place, id }: Place): string => Buffer.from(`${place} ${id}`).toString("base64url");

export function decodeCursor(cursor: string): Place {
  const [place = "", id = ""] = Buffer.from(cursor, "base64url").toString("utf8").split(" ");
  if (!PLACE.test(place) || !ID.test(id) || Number.isNaN(Date.parse(place)))
    throw new TorenError("request.invalid", "cursor: not one that this list has given.");
  return { place, id };
}
