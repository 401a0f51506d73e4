import { beforeAll, expect, test } from "@jest/globals";
import { FUNCTIONS, fitTemplate, functionOf, type Template } from "../../../local/aws/fit-template.ts";
import { pretended, UNHELD } from "../../../local/aws/unheld.ts";
import { templateOf } from "../../cdk/support.ts";

let template: Template;
let fitted: Template;
beforeAll(() => {
  template = templateOf({}, "us-east-1").toJSON() as Template;
  fitted = fitTemplate(template, (name) => ({ DATABASE_URL: `postgres://${name}` }));
});

const text = (value: unknown): string => JSON.stringify(value);

test("every function is known by its logical id, and told what it is to know beside what the stack tells it", () => {
  const functions = Object.entries(fitted.Resources).filter(([, { Type }]) => Type === "AWS::Lambda::Function");
  expect(functions.map(([id]) => functionOf(id)).sort()).toEqual([...FUNCTIONS].sort());
  for (const [id, { Properties }] of functions) {
    const { Variables = {} } = (Properties?.Environment ?? {}) as { Variables?: Record<string, string> };
    expect(Variables).toMatchObject({ DATABASE_URL: `postgres://${functionOf(id)}` });
    expect(Object.keys(Variables).length).toBeGreaterThan(1);
  }
});

test("beside functions it changes subnets, the one answer that streams, and what names an ARN of what isn't made; it leaves out routes of IPv6 alone", () => {
  const ids = Object.keys(template.Resources);
  const gone = ids.filter((id) => fitted.Resources[id] === undefined);
  expect(gone.length).toBeGreaterThan(0);
  for (const id of gone) expect(template.Resources[id]?.Properties).toHaveProperty("DestinationIpv6CidrBlock");
  for (const id of gone) expect(text(fitted)).not.toContain(`"${id}"`);
  const changed = ids.filter((id) => {
    const [before, after] = [template.Resources[id], fitted.Resources[id]];
    return after !== undefined && text(before?.Properties) !== text(after.Properties);
  });
  expect([...new Set(changed.map((id) => template.Resources[id]?.Type))].sort()).toEqual([
    "AWS::ApiGateway::Method",
    "AWS::EC2::Subnet",
    "AWS::IAM::Policy",
    "AWS::Lambda::Function",
  ]);
  const [method, ...others] = changed.filter((id) => template.Resources[id]?.Type === "AWS::ApiGateway::Method");
  expect(others).toEqual([]);
  expect(text(fitted.Resources[method ?? ""])).toMatch(/TorenApiapiFunction.*\/invocations/);
});

test("what an emulator only pretends to have made passes if it is on the list, and nothing else does", () => {
  const resource = (type: string, physicalId: string) => ({ logicalId: "One", type, physicalId });
  const [held = ""] = Object.keys(UNHELD);
  expect(pretended([resource(held, "unknown"), resource("AWS::SQS::Queue", "a-queue")])).toEqual([]);
  expect(pretended([resource("AWS::SQS::Queue", "unknown"), resource("AWS::SNS::Topic", "")])).toHaveLength(2);
});
