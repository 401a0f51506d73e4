"""Stands for ECS, which neither emulator has, as far as whoever starts workers asks for it. It starts nothing: tests read that it was asked to, and do."""
import importlib, json, os, uuid
PKG = os.environ.get("HOSTEXEC_PKG", "localemu")
tasks = []

def start():
    handlers = importlib.import_module(f"{PKG}.aws.handlers")
    def answer(chain, context, response):
        if context.service is None or context.service.service_name != "ecs" or context.operation is None:
            return
        ask = context.service_request or {}
        known = {"ListTasks": list_tasks, "DescribeTasks": describe_tasks, "RunTask": run_task}.get(context.operation.name)
        if known is None:
            return
        response.status_code = 200
        response.headers["Content-Type"] = "application/x-amz-json-1.1"
        response.set_response(json.dumps(known(ask)))
        chain.stop()
    handlers.serve_custom_service_request_handlers.append(answer)

def list_tasks(ask):
    return {"taskArns": [task["taskArn"] for task in tasks]}

def describe_tasks(ask):
    return {"tasks": [task for task in tasks if task["taskArn"] in ask["tasks"]], "failures": []}

def run_task(ask):
    started = [{"taskArn": f"arn:aws:ecs:us-east-1:000000000000:task/{ask['cluster']}/{uuid.uuid4().hex}", "lastStatus": "RUNNING"} for _ in range(ask.get("count", 1))]
    tasks.extend(started)
    return {"tasks": started, "failures": []}
