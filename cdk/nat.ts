// The small profile's way out for IPv4: one instance that translates addresses, at a seventh of a NAT gateway's price. It takes traffic from inside the
// VPC only, and replaces nobody: a deploy leaves the running instance alone, since its image is chosen when it is launched, not when the stack is updated.
import { Aws, Duration } from "aws-cdk-lib";
import { Alarm, ComparisonOperator, Metric, TreatMissingData } from "aws-cdk-lib/aws-cloudwatch";
import { Ec2Action, Ec2InstanceAction } from "aws-cdk-lib/aws-cloudwatch-actions";
import {
  CfnInstance,
  CfnLaunchTemplate,
  type ConfigureNatOptions,
  type GatewayConfig,
  type IVpc,
  NatProvider,
  Peer,
  Port,
  type PrivateSubnet,
  RouterType,
  SecurityGroup,
} from "aws-cdk-lib/aws-ec2";
import { acknowledge } from "./findings.ts";

/** Amazon Linux of today for Graviton: EC2 reads this parameter at the launch. */
const IMAGE = "/aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default-arm64";
const TYPE = "t4g.nano";

/** As AWS documents a NAT instance of Amazon Linux 2023. Packages come from the image's own release, so they are the same at each start. */
const USER_DATA = `#!/bin/bash
until dnf install -y iptables-services; do sleep 10; done
set -euo pipefail
echo net.ipv4.ip_forward=1 > /etc/sysctl.d/90-nat.conf
sysctl -p /etc/sysctl.d/90-nat.conf
systemctl enable --now iptables
iptables -t nat -A POSTROUTING -o "$(ip -o -4 route show default | sed 's/.* dev \\([^ ]*\\).*/\\1/' | head -n 1)" -j MASQUERADE
iptables -F FORWARD
service iptables save
`;

export class NatInstance extends NatProvider {
  readonly configuredGateways: GatewayConfig[] = [];
  private readonly from: string;
  private readonly release: number;
  private instance: CfnInstance | undefined;

  /** `from`: the addresses inside. Another `release` launches another instance, with the image of that day, and ends the old one. */
  constructor(from: string, release: number) {
    super();
    this.from = from;
    this.release = release;
  }

  override configureNat({ vpc, natSubnets, privateSubnets }: ConfigureNatOptions): void {
    const [subnet] = natSubnets;
    if (subnet === undefined) throw new Error("bug: a NAT instance needs a public subnet");
    const group = new SecurityGroup(vpc, "NatSecurityGroup", {
      vpc: vpc as IVpc,
      description: "NAT instance: whatever comes from inside the VPC goes out",
      allowAllOutbound: true,
    });
    group.addIngressRule(Peer.ipv4(this.from), Port.allTraffic(), "From inside the VPC");
    const template = new CfnLaunchTemplate(vpc, "NatTemplate", {
      launchTemplateData: {
        imageId: `resolve:ssm:${IMAGE}`,
        instanceType: TYPE,
        metadataOptions: { httpTokens: "required", httpPutResponseHopLimit: 1 },
        blockDeviceMappings: [{ deviceName: "/dev/xvda", ebs: { encrypted: true, volumeSize: 8, volumeType: "gp3" } }],
        userData: Buffer.from(`${USER_DATA}# release ${this.release}\n`).toString("base64"),
      },
    });
    this.instance = new CfnInstance(vpc, "NatInstance", {
      launchTemplate: { launchTemplateId: template.ref, version: template.attrLatestVersionNumber },
      subnetId: subnet.subnetId,
      securityGroupIds: [group.securityGroupId],
      sourceDestCheck: false,
    });
    this.instance.node.addDependency(subnet.internetConnectivityEstablished);
    this.configuredGateways.push({ az: subnet.availabilityZone, gatewayId: this.instance.ref });
    acknowledge(this.instance, {
      "AwsSolutions-EC28": "One instance for a few dollars: basic monitoring, by the minute, is enough to recover it.",
      "AwsSolutions-EC29": "It holds nothing: ending it by mistake costs the minutes until the next deploy.",
    });
    recover(this.instance);
    for (const each of privateSubnets) this.configureSubnet(each);
  }

  override configureSubnet(subnet: PrivateSubnet): void {
    if (this.instance === undefined) throw new Error("bug: there is no NAT instance yet");
    subnet.addRoute("DefaultRoute", {
      routerType: RouterType.INSTANCE,
      routerId: this.instance.ref,
      enablesInternetConnectivity: true,
    });
  }
}

/** A broken host: EC2 moves the instance, which keeps its addresses. A broken system: it is started anew. */
function recover(instance: CfnInstance): void {
  const alarm = (id: string, metricName: string, action: Ec2InstanceAction, minutes: number): void => {
    const metric = new Metric({
      namespace: "AWS/EC2",
      metricName,
      dimensionsMap: { InstanceId: instance.ref },
      statistic: "Maximum",
      period: Duration.minutes(1),
    });
    new Alarm(instance, id, {
      metric,
      threshold: 1,
      comparisonOperator: ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
      evaluationPeriods: minutes,
      treatMissingData: TreatMissingData.NOT_BREACHING,
      alarmDescription: `The NAT instance in ${Aws.STACK_NAME} fails its checks (${metricName}) and is repaired.`,
    }).addAlarmAction(new Ec2Action(action));
  };
  alarm("Recover", "StatusCheckFailed_System", Ec2InstanceAction.RECOVER, 2);
  alarm("Reboot", "StatusCheckFailed_Instance", Ec2InstanceAction.REBOOT, 3);
}
