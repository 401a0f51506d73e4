// What a Fargate worker runs first: AWS' image holds Node and no code of ours, so the bundle comes from the bucket of assets, as CDK zipped it, and is then
// imported. It stands in the task's definition as text, uses Node alone, and has no file beside it. An error ends the task, and its log says why.
import { createHash, createHmac } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join, normalize } from "node:path";
import { pathToFileURL } from "node:url";
import { inflateRawSync } from "node:zlib";

const TRIES = 5;
const { env } = process;
const wanted = (name) => {
  if (env[name]) return env[name];
  throw new Error(`${name} isn't set: the stack sets it`);
};

/** The role's, by the address that ECS gives; keys in the environment where there are some. */
async function credentials() {
  const { AWS_ACCESS_KEY_ID: id, AWS_SECRET_ACCESS_KEY: secret, AWS_SESSION_TOKEN: token } = env;
  if (id && secret) return { id, secret, token };
  const answer = await fetch(`http://169.254.170.2${wanted("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI")}`);
  if (!answer.ok) throw new Error(`no credentials: ECS answers ${answer.status}`);
  const { AccessKeyId, SecretAccessKey, Token } = await answer.json();
  return { id: AccessKeyId, secret: SecretAccessKey, token: Token };
}

const sha256 = (text) => createHash("sha256").update(text).digest("hex");
const hmac = (key, text) => createHmac("sha256", key).update(text).digest();
const escaped = (text) =>
  encodeURIComponent(text).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);

/** A GET with a signature (version 4). */
function signed(url, region, { id, secret, token }) {
  const time = new Date().toISOString().replace(/[-:]|\.\d+/g, "");
  const scope = `${time.slice(0, 8)}/${region}/s3/aws4_request`;
  const headers = {
    host: url.host,
    "x-amz-content-sha256": sha256(""),
    "x-amz-date": time,
    ...(token ? { "x-amz-security-token": token } : {}),
  };
  const names = Object.keys(headers).sort();
  const lines = names.map((name) => `${name}:${headers[name]}\n`).join("");
  const request = ["GET", url.pathname, "", lines, names.join(";"), sha256("")].join("\n");
  const toSign = ["AWS4-HMAC-SHA256", time, scope, sha256(request)].join("\n");
  const key = scope.split("/").reduce((last, part) => hmac(last, part), `AWS4${secret}`);
  const signature = hmac(key, toSign).toString("hex");
  const authorization = `AWS4-HMAC-SHA256 Credential=${id}/${scope}, SignedHeaders=${names.join(";")}, Signature=${signature}`;
  const { host, ...sent } = headers;
  return { ...sent, authorization };
}

async function fetchBundle() {
  const region = wanted("AWS_REGION");
  const [bucket, key] = [wanted("TOREN_BUNDLE_BUCKET"), wanted("TOREN_BUNDLE_KEY")];
  const suffix = region.startsWith("cn-") ? "amazonaws.com.cn" : "amazonaws.com";
  const place = env.AWS_ENDPOINT_URL_S3
    ? `${env.AWS_ENDPOINT_URL_S3}/${bucket}`
    : `https://${bucket}.s3.${region}.${suffix}`;
  const url = new URL(`${place}/${key.split("/").map(escaped).join("/")}`);
  const answer = await fetch(url, { headers: signed(url, region, await credentials()) });
  if (!answer.ok)
    throw new Error(`S3 answers ${answer.status} for ${url.pathname}: ${(await answer.text()).slice(0, 500)}`);
  return Buffer.from(await answer.arrayBuffer());
}

/** Files of a zip, by its directory at the end: stored or deflated, as CDK writes them. */
function* filesOf(zip) {
  const end = zip.lastIndexOf("PK\u0005\u0006", undefined, "latin1");
  if (end < 0) throw new Error("what S3 gave is no zip");
  let at = zip.readUInt32LE(end + 16);
  for (let left = zip.readUInt16LE(end + 10); left > 0; left--) {
    const [method, packed, chars, extra, comment, offset] = [
      zip.readUInt16LE(at + 10),
      zip.readUInt32LE(at + 20),
      zip.readUInt16LE(at + 28),
      zip.readUInt16LE(at + 30),
      zip.readUInt16LE(at + 32),
      zip.readUInt32LE(at + 42),
    ];
    const name = zip.toString("utf8", at + 46, at + 46 + chars);
    at += 46 + chars + extra + comment;
    if (name.endsWith("/")) continue;
    const start = offset + 30 + zip.readUInt16LE(offset + 26) + zip.readUInt16LE(offset + 28);
    const content = zip.subarray(start, start + packed);
    yield [name, method === 0 ? content : inflateRawSync(content)];
  }
}

async function retried(work) {
  for (let tries = 1; ; tries++) {
    try {
      return await work();
    } catch (thrown) {
      if (tries >= TRIES) throw thrown;
      await new Promise((resolve) => setTimeout(resolve, 1_000 * 2 ** tries));
    }
  }
}

const folder = join(wanted("TOREN_BUNDLE_FOLDER"), "bundle");
for (const [name, content] of filesOf(await retried(fetchBundle))) {
  const path = join(folder, normalize(`/${name}`));
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, content);
}
await import(pathToFileURL(join(folder, "index.mjs")).href);
