// Calls of AWS APIs that no client of ours is installed for. An emulator checks no signature; the header's scope tells it which service is meant.
export async function awsRest<T = unknown>(service: string, method: string, path: string, body?: unknown): Promise<T> {
  const scope = `test/20260101/us-east-1/${service}/aws4_request`;
  const answer = await fetch(new URL(path, process.env.AWS_ENDPOINT_URL), {
    method,
    headers: {
      authorization: `AWS4-HMAC-SHA256 Credential=${scope}, SignedHeaders=host, Signature=0`,
      "x-amz-date": "20260101T000000Z",
      "content-type": "application/json",
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${service} ${method} ${path}: ${answer.status} ${text.slice(0, 1_000)}`);
  return (text === "" ? null : JSON.parse(text)) as T;
}
