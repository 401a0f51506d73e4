// Policies of the deployed stack, as the emulator holds them, with names in the place of references; and whether they allow something, by a simulation of IAM.
import { GetBucketPolicyCommand, S3Client } from "@aws-sdk/client-s3";
import { GetQueueAttributesCommand, SQSClient } from "@aws-sdk/client-sqs";
import { runSimulation, type SimulationIdentityPolicy } from "@cloud-copilot/iam-simulate";
import { ACCOUNT, type Deployed } from "../../../local/aws/deploy.ts";
import { awsRequest } from "../../../local/aws/request.ts";
import { arn, type Need, physicalId, property, queueArn } from "./iam-needs.ts";
import { awsRest } from "./rest.ts";

/** Text of JSON within XML. */
type Policy = object;

export interface RolePolicy {
  readonly role: string;
  readonly policies: readonly SimulationIdentityPolicy[];
  /** Who may take it. */
  readonly trust: Policy;
}

export const roleNameOf = (deployed: Deployed, functionId: string): string => {
  const {
    "Fn::GetAtt": [roleId],
  } = property<{ "Fn::GetAtt": [string] }>(deployed, functionId, "Role");
  return physicalId(deployed, roleId);
};

export async function policyOf(endpoint: string, role: string): Promise<RolePolicy> {
  const ask = async (Action: string, more: object = {}): Promise<string> =>
    await awsRequest(
      endpoint,
      "iam",
      "POST",
      "/",
      new URLSearchParams({ Action, RoleName: role, Version: "2010-05-08", ...more }),
    );
  const document = (text: string, tag: string): Policy => {
    const [, found = ""] = new RegExp(`<${tag}>(.*?)</${tag}>`, "s").exec(text) ?? [];
    return JSON.parse(decodeURIComponent(found.replaceAll("+", "%20"))) as Policy;
  };
  const names = [...(await ask("ListRolePolicies")).matchAll(/<member>(.*?)<\/member>/gs)].map(([, name = ""]) => name);
  const policies: SimulationIdentityPolicy[] = [];
  for (const name of names)
    policies.push({ name, policy: document(await ask("GetRolePolicy", { PolicyName: name }), "PolicyDocument") });
  return { role, policies, trust: document(await ask("GetRole"), "AssumeRolePolicyDocument") };
}

/** Policies of queues, the bucket, functions and the topic, by their ARNs. Whoever has none is open to its account's roles alone. */
export async function resourcePolicies(
  endpoint: string,
  { resources }: Deployed,
): Promise<ReadonlyMap<string, Policy>> {
  const found = new Map<string, Policy>();
  const ofType = (wanted: string): string[] =>
    resources.filter(({ type }) => type === wanted).map((one) => one.physicalId);
  const sqs = new SQSClient({});
  for (const QueueUrl of ofType("AWS::SQS::Queue")) {
    const { Attributes } = await sqs.send(new GetQueueAttributesCommand({ QueueUrl, AttributeNames: ["Policy"] }));
    found.set(queueArn(QueueUrl), JSON.parse(Attributes?.Policy ?? "null") as Policy);
  }
  const s3 = new S3Client({ forcePathStyle: true });
  for (const Bucket of ofType("AWS::S3::Bucket")) {
    const { Policy: text = "null" } = await s3.send(new GetBucketPolicyCommand({ Bucket }));
    found.set(`arn:aws:s3:::${Bucket}`, JSON.parse(text) as Policy);
  }
  for (const name of ofType("AWS::Lambda::Function")) {
    const path = `/2015-03-31/functions/${name}/policy`;
    const answer = await awsRest<{ Policy: string }>("lambda", "GET", path).catch(() => null);
    if (answer !== null) found.set(arn("lambda", `function:${name}`), JSON.parse(answer.Policy) as Policy);
  }
  for (const TopicArn of ofType("AWS::SNS::Topic")) {
    const body = new URLSearchParams({ Action: "GetTopicAttributes", TopicArn, Version: "2010-03-31" });
    const [, text = "null"] =
      /<key>Policy<\/key>\s*<value>(.*?)<\/value>/s.exec(await awsRequest(endpoint, "sns", "POST", "/", body)) ?? [];
    found.set(TopicArn, JSON.parse(text.replaceAll("&quot;", '"').replaceAll("&#34;", '"')) as Policy);
  }
  return found;
}

export interface Verdict {
  readonly allowed: boolean;
  /** Of the statements that allow it, by policy and index. */
  readonly statements: readonly string[];
}

const EVERYTHING = {
  orgIdentifier: "root",
  policies: [
    { name: "all", policy: { Version: "2012-10-17", Statement: [{ Effect: "Allow", Action: "*", Resource: "*" }] } },
  ],
};

/** An identity's rights, and those of what it asks for. @throws when the question itself is wrong: an action or resource that AWS doesn't know. */
export const mayDo = (
  { role, policies }: RolePolicy,
  need: Need,
  onResources: ReadonlyMap<string, Policy> = new Map(),
): Promise<Verdict> => {
  // An object's policy is its bucket's.
  const [bucket = ""] = need.resource.split("/");
  const resourcePolicy = onResources.get(need.resource) ?? onResources.get(bucket);
  return simulate(`arn:aws:sts::${ACCOUNT}:assumed-role/${role}/function`, need, policies, resourcePolicy);
};

/** A service of AWS, which has no policies of its own: what it asks for says whether it may. */
export const mayServiceDo = (service: string, need: Need, resourcePolicy: Policy | undefined): Promise<Verdict> =>
  simulate(service, need, [], resourcePolicy);

async function simulate(
  principal: string,
  { action, resource, context = {} }: Need,
  identityPolicies: readonly SimulationIdentityPolicy[],
  resourcePolicy: Policy | undefined,
): Promise<Verdict> {
  const answer = await runSimulation(
    {
      request: {
        principal,
        action,
        resource: { resource, accountId: ACCOUNT },
        contextVariables: { "aws:SecureTransport": "true", "s3:TlsVersion": "1.3", ...context },
      },
      identityPolicies: [...identityPolicies],
      serviceControlPolicies: [EVERYTHING],
      resourceControlPolicies: [],
      ...(resourcePolicy === undefined ? {} : { resourcePolicy }),
    },
    {},
  );
  if (answer.resultType === "error") throw new Error(`${action} on ${resource}: ${JSON.stringify(answer.errors)}`);
  const results = answer.resultType === "single" ? [answer.result] : answer.results;
  const statements = results.flatMap(({ analysis }) =>
    (analysis.identityAnalysis?.allowStatements ?? []).map(
      ({ policyId, statement }) => `${policyId} ${statement.index()}`,
    ),
  );
  return { allowed: answer.overallResult === "Allowed", statements };
}
