"""Custom resources of CloudFormation, which neither emulator has: the function is invoked with an address to PUT its answer to, as on AWS."""
import importlib, json, os, time, uuid
import boto3
from botocore.config import Config
PKG = os.environ.get("HOSTEXEC_PKG", "localemu")
_rp = importlib.import_module(f"{PKG}.services.cloudformation.resource_provider")
BUCKET = "cloudformation-custom-resource-responses"

class CustomResourceProviderPlugin(_rp.CloudFormationResourceProviderPlugin):
    name = "AWS::CloudFormation::CustomResource"
    def load(self):
        self.factory = CustomResourceProvider

def client(service):
    url = f"http://{os.environ['GATEWAY_LISTEN']}"
    config = Config(s3={"addressing_style": "path"}, signature_version="s3v4" if service == "s3" else None, request_checksum_calculation="when_required")
    return boto3.client(service, endpoint_url=url, region_name="us-east-1", aws_access_key_id="test", aws_secret_access_key="test", config=config)

class CustomResourceProvider(_rp.ResourceProvider):
    TYPE = "AWS::CloudFormation::CustomResource"
    SCHEMA = {"primaryIdentifier": ["/properties/PhysicalResourceId"], "properties": {}, "readOnlyProperties": []}

    def create(self, request):
        return self.ask(request, "Create", {})

    def update(self, request):
        old = {k: v for k, v in request.previous_state.items() if k in request.desired_state}
        return self.ask(request, "Update", {"PhysicalResourceId": request.previous_state["PhysicalResourceId"], "OldResourceProperties": text(old)})

    def delete(self, request):
        return self.ask(request, "Delete", {"PhysicalResourceId": request.desired_state.get("PhysicalResourceId", "unknown")})

    def ask(self, request, kind, more):
        properties = request.desired_state
        s3, key = client("s3"), str(uuid.uuid4())
        s3.create_bucket(Bucket=BUCKET)
        event = {
            "RequestType": kind, "ResponseURL": s3.generate_presigned_url("put_object", Params={"Bucket": BUCKET, "Key": key}),
            "StackId": request.stack_id, "RequestId": str(uuid.uuid4()), "ResourceType": request.resource_type,
            "LogicalResourceId": request.logical_resource_id, "ServiceToken": properties["ServiceToken"], "ResourceProperties": text(properties), **more,
        }
        client("lambda").invoke(FunctionName=properties["ServiceToken"], InvocationType="Event", Payload=json.dumps(event))
        answer = wait_for(s3, key, int(properties.get("ServiceTimeout", 3600)))
        if answer is None:
            return failed(f"no answer of {properties['ServiceToken']} in time")
        if answer["Status"] != "SUCCESS":
            return failed(f"Received response status [FAILED] from custom resource. Message returned: {answer.get('Reason')}")
        model = {**properties, **answer.get("Data", {}), "PhysicalResourceId": answer["PhysicalResourceId"]}
        return _rp.ProgressEvent(status=_rp.OperationStatus.SUCCESS, resource_model=model)

def wait_for(s3, key, seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            return json.loads(s3.get_object(Bucket=BUCKET, Key=key)["Body"].read())
        except s3.exceptions.NoSuchKey:
            time.sleep(0.2)
    return None

def failed(message):
    return _rp.ProgressEvent(status=_rp.OperationStatus.FAILED, resource_model={}, message=message)

def text(value):
    """CloudFormation hands everything on as text."""
    if isinstance(value, dict): return {k: text(v) for k, v in value.items()}
    if isinstance(value, list): return [text(v) for v in value]
    return ("true" if value else "false") if isinstance(value, bool) else str(value)
