"""A program that runs steps of the service in forked processes, and kills them at a given AWS call.

It imports the app and keeps no connection open. Each task runs in a fork, which starts like a new process. Warming
tasks run in the parent itself, so that its forks have already run them. Tasks and responses are lines of JSON;
`crash_scenarios.py` is the other side.
"""

import gc
import hashlib
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from threading import Lock
from typing import IO, Any

from chalice.local import LambdaContext
from chalice.test import Client

import app
from chalicelib.entrypoints import catalogue
from chalicelib.features.tenancy.logic.email_hashes import email_hmac_bytes
from chalicelib.kernel.audit_log import ledger
from chalicelib.kernel.core import aws
from chalicelib.kernel.core.settings import settings
from chalicelib.kernel.identity.jwt import verify_token
from chalicelib.kernel.storage import item_json, table
from chalicelib.kernel.storage.entity import Item
from local.server import event_source_emulator
from local.server.provisioning import provision
from tests.harness.stored_records import create_membership

_HTTP = Client(app.app).http
_CONTEXT = LambdaContext("mortal", 512, 60_000)


def main(prefix: str) -> None:
    """Run tasks until the input ends, with a table and queues of that prefix."""
    output = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # Log records must not mix with the responses.
    os.environ |= {name.upper(): value for name, value in provision(prefix).items()}
    settings.cache_clear()
    aws.reset_clients()
    clients = [aws.client("dynamodb"), aws.client("sqs"), event_source_emulator.sqs()]
    catalogue.all_operations()
    catalogue.register_tasks()
    email_hmac_bytes("")  # Creates the key, which takes further calls in the first process that hashes an address.
    for line in sys.stdin:
        task = json.loads(line)
        if task.get("in_parent"):
            _run_steps(task, [], output)
            continue
        for client in clients:
            client.close()  # Forks must not share connections with this process.
        gc.freeze()  # Frozen objects are not collected, so forks do not copy their pages.
        child = os.fork()
        if child == 0:
            _run_task(task, clients, output)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if status:
            print(json.dumps({"exit_code": os.waitstatus_to_exitcode(status)}), file=output, flush=True)


def _run_task(task: Mapping[str, Any], clients: Sequence[Any], output: IO[str]) -> None:
    real_clock, ahead_ns = time.time_ns, round(task["ahead"] * 1_000_000_000)
    time.time_ns = lambda: real_clock() + ahead_ns  # Modules import the functions of the service's clock by name.
    calls: list[str] = []
    for client in clients:
        for phase in ("before", "after"):
            client.meta.events.register(f"{phase}-call", _create_killer(calls, task.get("kill_point"), phase))
    _run_steps(task, calls, output)


def _run_steps(task: Mapping[str, Any], calls: Sequence[str], output: IO[str]) -> None:
    results = [_STEPS[step](**arguments) for step, arguments in task["steps"]]
    print(json.dumps({"results": results, "calls": calls}), file=output, flush=True)


_numbering = Lock()


def _create_killer(calls: list[str], kill_point: Sequence[Any] | None, phase: str) -> Callable[..., None]:
    def kill_at_point(model: Any, context: dict[str, Any], **_: object) -> None:
        if phase == "before":
            with _numbering:  # Parallel calls of one client.
                calls.append(model.name)
                context["call_number"] = len(calls)
        if kill_point and (context["call_number"], phase) == tuple(kill_point):
            os.kill(os.getpid(), signal.SIGKILL)

    return kill_at_point


def _request(method: str, path: str, token: str, body: object = None, key: str | None = None) -> dict[str, Any]:
    headers = {"authorization": f"Bearer {token}", "content-type": "application/json"}
    headers |= {"idempotency-key": key} if key else {}
    raw_body = b"" if body is None else json.dumps(body).encode()
    response = _HTTP.request(method, path, headers=headers, body=raw_body)
    return {"status": response.status_code, "headers": response.headers, "body": json.loads(response.body or b"null")}


def _join(organization: str, token: str, role: str) -> str:
    """Make a user a member, as an accepted invitation does, and return the user's id."""
    return create_membership(organization, verify_token(token), role).user_id


def _append_entries(log: str, batch_size: int) -> Any:
    """Append the pending entries of a log, `batch_size` in each transaction."""
    ledger.BATCH_SIZE = batch_size  # type: ignore[misc]
    return app.events(_batch({"log": log}), _CONTEXT)


def _batch(message: Mapping[str, Any]) -> dict[str, Any]:
    attributes = {"MessageGroupId": "1", "ApproximateReceiveCount": "1"}
    source = {"eventSource": "aws:sqs", "eventSourceARN": "arn:aws:sqs:us-east-1:0:it"}
    return {"Records": [{"messageId": "1", "body": json.dumps(message), "attributes": attributes, **source}]}


def _deliver() -> None:
    """Let the ledger's worker handle messages until the queue is empty."""
    queue, count = settings().events_queue_url, "ApproximateNumberOfMessages"
    worker = next(replace(c, queue_url=queue) for c in event_source_emulator.consumers(app.app) if c.name == "events")
    while int(aws.client("sqs").get_queue_attributes(QueueUrl=queue, AttributeNames=[count])["Attributes"][count]):
        worker.poll(0)


def _contents(
    slugs: Sequence[str], people: Sequence[str], key: str, organization_ids: Sequence[str]
) -> list[dict[str, Any]]:
    """Return the items of an organization, which has an id or one of the slugs, and of its requests."""
    guards = _read(f"U#organization-slug#{slug}" for slug in slugs)
    digest = hashlib.sha256(key.encode()).hexdigest()
    organizations = {*organization_ids, *(item["ref"] for item in guards)}
    pages = [table.query(f"{letter}#{organization}") for organization in organizations for letter in "OABQ"]
    assert not any(page.last_evaluated_key for page in pages)
    items = [*guards, *_read(f"I#{person}#{digest}" for person in people), *(i for page in pages for i in page.items)]
    pointers = _read(f"K#{digest}" for item in items for digest in item.get("digests", ()))
    return [_readable(item) for item in [*items, *pointers]]


def _read(partitions: Iterable[str]) -> list[Item]:
    return list(table.get_all((pk, "#") for pk in partitions).values())


def _read_all_items() -> list[dict[str, Any]]:
    pages = aws.client("dynamodb").get_paginator("scan").paginate(TableName=settings().table_name)
    return [_readable(item_json.item_from_dynamodb_json(item)) for page in pages for item in page["Items"]]


def _readable(item: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value.hex() if isinstance(value, bytes) else value for name, value in item.items()}


_STEPS: dict[str, Callable[..., Any]] = {
    "request": _request,
    "join": _join,
    "append": _append_entries,
    "work": lambda message: app.jobs(_batch(message), _CONTEXT),
    "sweep": lambda: next(s for s in event_source_emulator.schedules(app.app) if s.name == "sweep").invoke(),
    "deliver": _deliver,
    "lose": lambda: aws.client("sqs").purge_queue(QueueUrl=settings().events_queue_url),
    "contents": _contents,
    "everything": _read_all_items,
}

if __name__ == "__main__":
    main(sys.argv[1])
