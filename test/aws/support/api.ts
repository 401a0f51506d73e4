// A REST API on the emulator that hands every path to one function, as the stack's does.
import { awsRest } from "./rest.ts";

export interface TestApi {
  /** Ends in a slash; what follows is the path under the stage. */
  readonly url: string;
  remove(): Promise<void>;
}

export async function createApi(name: string, functionName: string): Promise<TestApi> {
  const call = <T = unknown>(method: string, path: string, body?: unknown) =>
    awsRest<T>("apigateway", method, path, body);
  const { id } = await call<{ id: string }>("POST", "/restapis", { name, binaryMediaTypes: ["*/*"] });
  const { item: items, _embedded } = await call<{ item?: { id: string }[]; _embedded?: { item: { id: string } } }>(
    "GET",
    `/restapis/${id}/resources`,
  );
  const root = items?.[0]?.id ?? _embedded?.item.id;
  const proxy = await call<{ id: string }>("POST", `/restapis/${id}/resources/${root}`, { pathPart: "{proxy+}" });
  const fn = `arn:aws:lambda:us-east-1:000000000000:function:${functionName}`;
  for (const resource of [root, proxy.id]) {
    const method = `/restapis/${id}/resources/${resource}/methods/ANY`;
    await call("PUT", method, { authorizationType: "NONE", requestParameters: { "method.request.path.proxy": true } });
    await call("PUT", `${method}/integration`, {
      type: "AWS_PROXY",
      httpMethod: "POST",
      uri: `arn:aws:apigateway:us-east-1:lambda:path/2015-03-31/functions/${fn}/invocations`,
    });
  }
  await call("POST", `/restapis/${id}/deployments`, { stageName: "prod" });
  return {
    url: new URL(`/_aws/execute-api/${id}/prod/`, process.env.AWS_ENDPOINT_URL).href,
    remove: async () => {
      await call("DELETE", `/restapis/${id}`);
    },
  };
}
