// Keys and the audit.
import { auditPage, auditQuery, keyRequest, keysList, madeKey } from "../keys.ts";
import { answer, inPath, json, query, ref, responses, takes } from "./parts.ts";

export const keyPaths = {
  "/keys": {
    post: {
      summary: "Makes a key. The answer is the only place where it ever stands.",
      requestBody: takes(keyRequest),
      responses: responses({ "201": json(answer(madeKey), "The key.") }),
    },
    get: {
      summary: "All keys, newest first, revoked ones too.",
      responses: responses({ "200": json(answer(keysList), "Keys, without what is secret.") }),
    },
  },
  "/keys/{keyId}": {
    delete: {
      summary: "Revokes a key: within some seconds it is refused everywhere. Can be repeated.",
      parameters: [inPath("keyId")],
      responses: responses({ "200": json(ref("Key"), "It is revoked.") }),
    },
  },
  "/audit": {
    get: {
      summary: "Who started, decided, cancelled, made keys and schedules; newest first.",
      parameters: query(auditQuery),
      responses: responses({ "200": json(answer(auditPage), "A page.") }),
    },
  },
};
