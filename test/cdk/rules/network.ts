import { describe, expect, test } from "@jest/globals";
import type { Template } from "aws-cdk-lib/assertions";
import { INSTALLATIONS, installation, ofType, only, property } from "../support.ts";

const ours = Object.keys(INSTALLATIONS).filter((name) => !/VPC|by its URL/.test(name));
const routes = (template: Template) => ofType(template, "AWS::EC2::Route").map(([, route]) => route.Properties);

describe.each(ours)("the network of an installation: %s", (name) => {
  const template = installation(name);

  test("private subnets reach IPv6 by a gateway that lets nobody in, and IPv4 by NAT", () => {
    const inward = routes(template).filter(({ RouteTableId }) => JSON.stringify(RouteTableId).includes("private"));
    const kinds = inward.map((route) =>
      route.DestinationIpv6CidrBlock === "::/0" && route.EgressOnlyInternetGatewayId !== undefined
        ? "IPv6, egress only"
        : route.DestinationCidrBlock === "0.0.0.0/0" && (route.InstanceId ?? route.NatGatewayId) !== undefined
          ? "IPv4, NAT"
          : "another",
    );
    expect(kinds.sort()).toEqual(["IPv4, NAT", "IPv4, NAT", "IPv6, egress only", "IPv6, egress only"]);
  });

  test("the database's subnets have no way out", () => {
    const outward = routes(template).filter(({ RouteTableId }) => JSON.stringify(RouteTableId).includes("database"));
    expect(outward).toEqual([]);
  });

  test("functions run in the private subnets, with both kinds of addresses; nobody gets in", () => {
    const workers = only(template, "AWS::EC2::SecurityGroup", "NetworkWorkers");
    expect(workers.Properties.SecurityGroupIngress).toBeUndefined();
    for (const [, fn] of ofType(template, "AWS::Lambda::Function")) {
      const vpc = property<{ SubnetIds: { Ref: string }[]; Ipv6AllowedForDualStack: boolean }>(fn, "VpcConfig");
      expect(vpc.Ipv6AllowedForDualStack).toBe(true);
      for (const { Ref } of vpc.SubnetIds) expect(Ref).toMatch(/Vpcprivate/);
    }
  });

  test("files go to S3 by an endpoint that costs nothing", () => {
    expect(only(template, "AWS::EC2::VPCEndpoint").Properties.VpcEndpointType).toBe("Gateway");
  });
});

describe("the NAT instance of profile small", () => {
  const template = installation("as it comes");
  const instance = only(template, "AWS::EC2::Instance");

  test("takes traffic from inside the VPC alone", () => {
    const group = only(template, "AWS::EC2::SecurityGroup", "NatSecurityGroup");
    expect(group.Properties.SecurityGroupIngress).toEqual([
      expect.objectContaining({ CidrIp: "10.0.0.0/16", IpProtocol: "-1" }),
    ]);
    expect(instance.Properties).toMatchObject({ SourceDestCheck: false });
  });

  test("answers for its metadata by IMDSv2, has an encrypted disk, and keeps its image through deploys", () => {
    const { LaunchTemplateData } = only(template, "AWS::EC2::LaunchTemplate").Properties;
    expect(LaunchTemplateData).toMatchObject({
      MetadataOptions: { HttpTokens: "required", HttpPutResponseHopLimit: 1 },
      // Read by EC2 when it is launched: nothing in the template changes when AWS publishes an image.
      ImageId: expect.stringMatching(/^resolve:ssm:\/aws\/service\/ami-amazon-linux-latest\//),
      BlockDeviceMappings: [{ Ebs: { Encrypted: true } }],
    });
  });

  test("is repaired by EC2 when its checks fail", () => {
    const actions = ofType(template, "AWS::CloudWatch::Alarm")
      .filter(([id]) => id.includes("NatInstance"))
      .map(([, alarm]) => [alarm.Properties.MetricName, JSON.stringify(alarm.Properties.AlarmActions)]);
    expect(actions).toEqual([
      ["StatusCheckFailed_System", expect.stringContaining(":ec2:recover")],
      ["StatusCheckFailed_Instance", expect.stringContaining(":ec2:reboot")],
    ]);
  });
});

test("profile production has AWS' gateways, one a zone, and flow logs", () => {
  const template = installation("production");
  expect(ofType(template, "AWS::EC2::NatGateway")).toHaveLength(2);
  expect(ofType(template, "AWS::EC2::Instance")).toEqual([]);
  expect(ofType(template, "AWS::EC2::FlowLog")).toHaveLength(1);
});

test("a VPC of its user's is used as it is", () => {
  const template = installation("a VPC of its user's");
  for (const type of ["VPC", "Subnet", "Route", "NatGateway", "Instance"])
    expect([type, ofType(template, `AWS::EC2::${type}`)]).toEqual([type, []]);
  expect(only(template, "AWS::RDS::DBSubnetGroup").Properties.SubnetIds).toEqual([
    "subnet-0123456789abcdef0",
    "subnet-0123456789abcdef1",
  ]);
});
