// Calls of AWS' interfaces that speak JSON over REST.
import { awsRequest } from "../../../local/aws/request.ts";

export async function awsRest<T = unknown>(service: string, method: string, path: string, body?: unknown): Promise<T> {
  const endpoint = process.env.AWS_ENDPOINT_URL ?? "";
  const text = await awsRequest(endpoint, service, method, path, body === undefined ? undefined : JSON.stringify(body));
  return (text === "" ? null : JSON.parse(text)) as T;
}
