// The network: a VPC over two zones with three kinds of subnets, the same in both profiles, so that a change of profile moves nothing. Functions live in
// private subnets, the database in isolated ones. What speaks IPv6 is reached by an egress-only gateway, which is free; the rest by NAT.
import {
  FlowLogDestination,
  GatewayVpcEndpointAwsService,
  IpAddresses,
  IpProtocol,
  type ISecurityGroup,
  type IVpc,
  NatProvider,
  SecurityGroup,
  type SubnetSelection,
  SubnetType,
  Vpc,
} from "aws-cdk-lib/aws-ec2";
import { Construct } from "constructs";
import { acknowledge } from "./findings.ts";
import { logGroup } from "./logs.ts";
import { NatInstance } from "./nat.ts";
import type { Profile } from "./profile.ts";

const ZONES = 2;
const CIDR = "10.0.0.0/16";

export interface NetworkProps {
  readonly profile: Profile;
  /** The user's own; left out: one is made. It needs private subnets with a way out. */
  readonly vpc?: IVpc | undefined;
  readonly natRelease: number;
}

export class Network extends Construct {
  readonly vpc: IVpc;
  /** Where functions and workers run. */
  readonly inside: SubnetSelection;
  /** Where the database lives. */
  readonly isolated: SubnetSelection;
  /** Of functions and workers: out to everywhere, in from nowhere. */
  readonly workers: ISecurityGroup;
  /** IPv6 goes out too. */
  readonly dualStack: boolean;

  constructor(scope: Construct, id: string, { profile, vpc, natRelease }: NetworkProps) {
    super(scope, id);
    this.vpc = vpc ?? this.make(profile, natRelease);
    this.dualStack = vpc === undefined;
    this.inside = { subnetType: SubnetType.PRIVATE_WITH_EGRESS };
    this.isolated =
      vpc === undefined || vpc.isolatedSubnets.length >= ZONES
        ? { subnetType: SubnetType.PRIVATE_ISOLATED }
        : this.inside;
    this.workers = new SecurityGroup(this, "Workers", {
      vpc: this.vpc,
      description: "Functions and workers of Toren",
      allowAllOutbound: true,
      allowAllIpv6Outbound: this.dualStack,
    });
  }

  private make(profile: Profile, natRelease: number): IVpc {
    const vpc = new Vpc(this, "Vpc", {
      ipProtocol: IpProtocol.DUAL_STACK,
      ipAddresses: IpAddresses.cidr(CIDR),
      maxAzs: ZONES,
      subnetConfiguration: [
        // For NAT alone: nothing else is launched there.
        { name: "public", subnetType: SubnetType.PUBLIC, cidrMask: 24, mapPublicIpOnLaunch: true },
        { name: "private", subnetType: SubnetType.PRIVATE_WITH_EGRESS, cidrMask: 20 },
        { name: "database", subnetType: SubnetType.PRIVATE_ISOLATED, cidrMask: 24 },
      ],
      ...(profile.nat === "instance"
        ? { natGateways: 1, natGatewayProvider: new NatInstance(CIDR, natRelease) }
        : { natGateways: ZONES, natGatewayProvider: NatProvider.gateway() }),
      // Nothing is in the default group, and emptying it takes a function and a role of its own.
      restrictDefaultSecurityGroup: false,
    });
    // Free, and large files don't go through NAT.
    vpc.addGatewayEndpoint("S3", { service: GatewayVpcEndpointAwsService.S3 });
    if (profile.flowLogs)
      vpc.addFlowLog("FlowLog", {
        destination: FlowLogDestination.toCloudWatchLogs(logGroup(vpc, "FlowLogs", profile.logDays)),
      });
    else acknowledge(vpc, { "AwsSolutions-VPC7": "Flow logs are part of profile production; they cost by traffic." });
    return vpc as IVpc;
  }
}
