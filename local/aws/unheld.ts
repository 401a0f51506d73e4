// What an emulator of AWS can't hold. LocalStack and its like "create" a type that they don't know, with the physical id `unknown`, and go on: a stack that
// deploys proves nothing about those. Whatever isn't on this list and comes out as `unknown` is an error.

/** Resource types, and why a deployment without them still says something. */
export const UNHELD: Readonly<Record<string, string>> = {
  "AWS::RDS::DBInstance": "Functions get a Postgres by its URL.",
  "AWS::RDS::DBParameterGroup": "Belongs to the RDS instance.",
  "AWS::RDS::DBSubnetGroup": "Belongs to the RDS instance.",
  "AWS::ECS::Cluster": "A worker for long tasks is started as a plain process.",
  "AWS::ECS::TaskDefinition": "A worker for long tasks is started as a plain process.",
  "AWS::EC2::VPCCidrBlock": "Functions run on this machine, in no VPC.",
  "AWS::EC2::EgressOnlyInternetGateway": "Functions run on this machine, in no VPC.",
  "AWS::EC2::LaunchTemplate": "Functions run on this machine, in no VPC.",
  "AWS::EC2::SecurityGroupIngress": "Functions run on this machine, in no VPC.",
  "AWS::Logs::MetricFilter": "Alarms that count log lines have no data; what is counted stands in the log.",
  "Custom::TorenMigration": "Whoever deploys invokes the function himself, as CloudFormation would.",
};

export interface DeployedResource {
  readonly logicalId: string;
  readonly physicalId: string;
  readonly type: string;
}

export const isUnknown = ({ physicalId }: DeployedResource): boolean => physicalId === "unknown" || physicalId === "";

/** What the emulator only pretends to have made, without being on the list. */
export const pretended = (resources: readonly DeployedResource[]): DeployedResource[] =>
  resources.filter((resource) => isUnknown(resource) && UNHELD[resource.type] === undefined);
