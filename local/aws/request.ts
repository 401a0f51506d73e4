// Calls of AWS' interfaces that no client of ours is installed for. An emulator checks no signature; the header's scope tells it which service is meant.

/** The answer's text. @throws with what the emulator says. */
export async function awsRequest(
  endpoint: string,
  service: string,
  method: string,
  path: string,
  body?: string | URLSearchParams,
): Promise<string> {
  const scope = `test/20260101/us-east-1/${service}/aws4_request`;
  const answer = await fetch(new URL(path, endpoint), {
    method,
    headers: {
      authorization: `AWS4-HMAC-SHA256 Credential=${scope}, SignedHeaders=host, Signature=0`,
      "x-amz-date": "20260101T000000Z",
      ...(typeof body === "string" ? { "content-type": "application/json" } : {}),
    },
    ...(body === undefined ? {} : { body }),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${service} ${method} ${path}: ${answer.status} ${text.slice(0, 1_000)}`);
  return text;
}
