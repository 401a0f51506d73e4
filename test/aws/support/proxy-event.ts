// A request as API Gateway's REST API hands it to a function.
import type { APIGatewayProxyEvent } from "aws-lambda";

export interface ProxyRequest {
  readonly method: string;
  /** Without the stage, as `/runs?limit=1`. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

const STAGE = "v1";

/** Bodies come encoded, as with `binaryMediaTypes: *\/*`. */
export function proxyEvent({ method, path, headers = {}, body }: ProxyRequest): APIGatewayProxyEvent {
  const url = new URL(path, "https://api.example.com");
  const query = [...url.searchParams];
  const all = { host: url.host, "content-type": "application/json", ...headers };
  return {
    resource: "/{proxy+}",
    path: url.pathname,
    httpMethod: method,
    headers: all,
    multiValueHeaders: Object.fromEntries(Object.entries(all).map(([name, value]) => [name, [value]])),
    queryStringParameters: query.length === 0 ? null : Object.fromEntries(query),
    multiValueQueryStringParameters:
      query.length === 0 ? null : Object.fromEntries(query.map(([name, value]) => [name, [value]])),
    pathParameters: { proxy: url.pathname.slice(1) },
    stageVariables: null,
    body: body === undefined ? null : Buffer.from(JSON.stringify(body)).toString("base64"),
    isBase64Encoded: body !== undefined,
    requestContext: {
      stage: STAGE,
      path: `/${STAGE}${url.pathname}`,
      domainName: url.host,
      httpMethod: method,
      requestId: "00000000-0000-4000-8000-000000000000",
    } as APIGatewayProxyEvent["requestContext"],
  };
}
