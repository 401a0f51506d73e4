// AWS' binary event stream, written from its public description: a prelude of two lengths and their checksum, headers, payload, and a checksum of all.
import { crc32 } from "node:zlib";

const STRING = 7;

/** One message of the stream; header values are text. */
export function encodeMessage(headers: Readonly<Record<string, string>>, payload: string): Buffer {
  const head = Buffer.concat(Object.entries(headers).map(([name, value]) => header(name, value)));
  const body = Buffer.from(payload, "utf8");
  const prelude = Buffer.alloc(8);
  prelude.writeUInt32BE(12 + head.length + body.length + 4, 0);
  prelude.writeUInt32BE(head.length, 4);
  const checked = Buffer.concat([prelude, uint32(crc32(prelude)), head, body]);
  return Buffer.concat([checked, uint32(crc32(checked))]);
}

function header(name: string, value: string): Buffer {
  const key = Buffer.from(name, "utf8");
  const text = Buffer.from(value, "utf8");
  const length = Buffer.alloc(2);
  length.writeUInt16BE(text.length, 0);
  return Buffer.concat([Buffer.from([key.length]), key, Buffer.from([STRING]), length, text]);
}

const uint32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value >>> 0, 0);
  return bytes;
};

const JSON_TYPE = { ":content-type": "application/json" };

export const eventMessage = (type: string, payload: object): Buffer =>
  encodeMessage({ ":event-type": type, ...JSON_TYPE, ":message-type": "event" }, JSON.stringify(payload));

/** An exception that ends a stream; its name as in the stream's union, such as `throttlingException`. */
export const exceptionMessage = (type: string, payload: object): Buffer =>
  encodeMessage({ ":exception-type": type, ...JSON_TYPE, ":message-type": "exception" }, JSON.stringify(payload));

/** An error that no model of the API knows. */
export const errorMessage = (code: string, message: string): Buffer =>
  encodeMessage({ ":error-code": code, ":error-message": message, ":message-type": "error" }, "");
