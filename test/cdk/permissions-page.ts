// docs/reference/permissions.md, made from the stack's template: `node test/cdk/permissions-page.ts` writes it, permissions-page.test.ts holds the two equal.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Template } from "aws-cdk-lib/assertions";
import { flat } from "../../cdk/allow.ts";
import { ROOT } from "../repo/files.ts";
import { ASKING_AGENTS, ofType, type Resource, templateOf } from "./support.ts";

export const PAGE = "docs/reference/permissions.md";

const HEAD = `# Permissions

What each part of the deployed stack may do, as its roles say. This page is made from the stack's template: \`node test/cdk/permissions-page.ts\`. It shows the
small profile, with an agent that asks two models on Bedrock: one by an inference profile, one by its id. Agents that ask other providers add nothing here.

A name in angle brackets is a resource of the stack. \`<AWS::…>\` is what it says: the account, the region or the partition that is deployed to. Rights that a
queue, a bucket or the topic of alarms gives or denies to others stand at the end. People's own rights are not in here: who may deploy, read logs or secrets is your account's to say.
`;

interface Statement {
  readonly Effect: string;
  readonly Action: string | readonly string[];
  readonly Resource?: unknown;
  readonly Condition?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly Principal?: unknown;
}

interface RoleLines {
  readonly name: string;
  readonly lines: readonly string[];
}

export function permissionsPage(template: Template): string {
  const roles = ofType(template, "AWS::IAM::Role").map(([id, role]) => roleLines(template, id, role));
  // What all functions have is said once.
  const functions = roles.filter(({ lines }) => lines[0]?.includes("lambda.amazonaws.com"));
  const common = (functions[0]?.lines ?? []).filter((one) => functions.every(({ lines }) => lines.includes(one)));
  const own = (role: RoleLines): readonly string[] =>
    functions.includes(role) ? role.lines.filter((one) => !common.includes(one)) : role.lines;
  const others = ["AWS::SQS::QueuePolicy", "AWS::S3::BucketPolicy", "AWS::SNS::TopicPolicy"].flatMap((type) =>
    ofType(template, type).flatMap(([, policy]) =>
      statements(policy.Properties.PolicyDocument).map((one) => `${who(one.Principal)}: ${line(one)}`),
    ),
  );
  return [
    HEAD,
    section("Every function", common),
    ...roles.map((role) => section(role.name, own(role))),
    section("What resources say of others", others),
  ].join("");
}

function roleLines(template: Template, id: string, { Properties }: Resource): RoleLines {
  const trust = statements(Properties.AssumeRolePolicyDocument).map(
    (one) => `assumed by ${who(one.Principal)}${condition(one)}`,
  );
  const lines = ofType(template, "AWS::IAM::Policy")
    .filter(([, policy]) => JSON.stringify(policy.Properties.Roles).includes(`"${id}"`))
    .flatMap(([, policy]) => statements(policy.Properties.PolicyDocument).map(line));
  const managed = ((Properties.ManagedPolicyArns as unknown[] | undefined) ?? []).map(
    (arn) => `has the policy \`${named(arn)}\``,
  );
  return { name: short(id).replace(/Role$/, ""), lines: [...trust, ...lines, ...managed] };
}

const section = (title: string, lines: readonly string[]): string =>
  `\n## ${title}\n\n${lines.map((one) => `- ${one}\n`).join("")}`;
const statements = (document: unknown): readonly Statement[] => (document as { Statement: Statement[] }).Statement;
const listed = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [value]);

const line = (one: Statement): string =>
  `${one.Effect === "Allow" ? "may" : "**may not**"} ${listed(one.Action)
    .map((action) => `\`${String(action)}\``)
    .join(", ")} on ${listed(one.Resource)
    .map((resource) => `\`${named(resource)}\``)
    .join(", ")}${condition(one)}`;

const condition = ({ Condition }: Statement): string =>
  Condition === undefined
    ? ""
    : `, if ${Object.entries(Condition)
        .flatMap(([operator, keys]) =>
          Object.entries(keys).map(
            ([key, value]) => `\`${key}\` ${operator} \`${listed(value).map(named).join(", ")}\``,
          ),
        )
        .join(" and ")}`;

const who = (principal: unknown): string => {
  if (typeof principal === "string") return principal === "*" ? "everybody" : principal;
  return Object.values(principal as Record<string, unknown>)
    .flatMap(listed)
    .map((one) => (one === "*" ? "everybody" : `\`${named(one)}\``))
    .join(", ");
};

/** `<TorenQueuesticks8D4E2335.Arn>` is `<queue ticks>`: hashes and which of its names is meant say nothing here. */
const named = (value: unknown): string =>
  flat(typeof value === "number" ? String(value) : value)
    .replaceAll(/<(Toren\w+?)(?:\.\w+)*>/g, (_, id: string) => `<${short(id)}>`)
    .replace(/[0-9a-f]{64}\.zip/, "<bundle>.zip");

const short = (id: string): string =>
  id
    .replace(/^Toren/, "")
    .replace(/[0-9A-F]{8}$/, "")
    .replace(/^Queues(?=[a-z])/, "queue ")
    .replace(/^(?:Workers|Api)(?=[a-z])/, "");

export const currentPage = (): string => permissionsPage(templateOf({ agents: ASKING_AGENTS }, "us-east-1"));

if (import.meta.main) writeFileSync(join(ROOT, PAGE), currentPage());
