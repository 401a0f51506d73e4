"""Writes down each call of AWS that a function made: who, what, with which parameters, and how it was answered."""
import importlib, json, os
import boto3
PKG = os.environ.get("HOSTEXEC_PKG", "localemu")

functions = {}
"""Their names by the access keys that they were started with: each environment has credentials of its function's role. Who isn't started here says by
the key who he is: `as.NAME`."""

def start(path):
    handlers = importlib.import_module(f"{PKG}.aws.handlers")
    out = open(path, "a", buffering=1)
    def record(chain, context, response):
        key = key_of(context.request)
        function = key[3:] if key.startswith("as.") else functions.get(key)
        if function is None or context.service is None or context.operation is None:
            return
        call = {
            "function": function, "service": context.service.service_name, "operation": context.operation.name, "status": response.status_code,
            "parameters": plain(context.service_request or {}),
        }
        out.write(json.dumps(call, default=str) + "\n")
        if call["operation"] in ("SendMessage", "SendMessageBatch") and os.path.exists(f"{path}.double"):
            again(context)
            out.write(json.dumps({**call, "operation": "doubled"}) + "\n")
    handlers.run_custom_response_handlers.append(record)

def again(context):
    """A test asks for every message twice by a file beside the calls'."""
    client = boto3.client("sqs", endpoint_url=f"http://{os.environ['GATEWAY_LISTEN']}", region_name="us-east-1", aws_access_key_id="test", aws_secret_access_key="test")
    send = client.send_message if context.operation.name == "SendMessage" else client.send_message_batch
    send(**plain(context.service_request))

def key_of(request):
    """From the signature's header, or from the parameters of a presigned address."""
    credential = request.headers.get("Authorization", "").partition("Credential=")[2] or request.args.get("X-Amz-Credential", "")
    return credential.partition("/")[0]

def plain(value):
    if isinstance(value, dict): return {k: plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)): return [plain(v) for v in value]
    return value if isinstance(value, (str, int, float, bool)) or value is None else f"<{type(value).__name__}>"
