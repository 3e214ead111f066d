"""What is found when a soak is over and nothing waits any more: logs, deliveries, files and queues."""

import time
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterable
from hashlib import sha256
from typing import Any, Final

import boto3
import httpx

from benchmarks.soak.tenants import Tenant
from tests.emulator.log_reader import list_items
from tests.emulator.local_stage import LocalStage
from tests.harness.receiver import Receiver

_LOOK_SECONDS: Final = 0.5
_ENDED: Final = ("completed", "failed")


def wait_until(done: Callable[[], bool], seconds: float) -> float:
    """Wait until something is done, and no longer; return how long that was."""
    began = time.monotonic()
    while not done() and time.monotonic() < began + seconds:
        time.sleep(_LOOK_SECONDS)
    return round(time.monotonic() - began, 1)


def pending(tenant: Tenant) -> int:
    """Return how many entries of a tenant's log still wait for their place."""
    path = f"/organizations/{tenant.organization}/audit-log/verify-integrity"
    return int(tenant.caller.get(path).json()["pendingEntries"])


def arrived(receiver: Receiver, path: str) -> dict[str, list[float]]:
    """Return when the events arrived at a path of the receiver, by id, in seconds since 1970."""
    found: dict[str, list[float]] = {}
    for request in list(receiver.requests):
        if request.path == path:
            found.setdefault(request.headers["webhook-id"], []).append(request.received_at)
    return found


def explained(tenant: Tenant, webhook: str) -> set[str]:
    """Return the events whose delivery has not succeeded and says why, or when it is tried next."""
    path = f"/organizations/{tenant.organization}/webhooks/{webhook}/deliveries"
    return {
        delivery["eventId"]
        for delivery in list_items(tenant.caller, path)
        if delivery["status"] != "succeeded" and (delivery["attempts"] or delivery["nextAttemptAt"])
    }


def verified(tenant: Tenant) -> list[str]:
    """Return what is wrong with a tenant's log, from its first entry to its last, and with each checkpoint kept."""
    return [f"{report}" for report in _reports(tenant) if not report["valid"] or report["pendingEntries"]]


def _reports(tenant: Tenant) -> Iterable[dict[str, Any]]:
    path = f"/organizations/{tenant.organization}/audit-log/verify-integrity"
    for checkpoint in ("", *tenant.checkpoints):
        asked = {"checkpoint": encoded(checkpoint)} if checkpoint else {}
        while True:
            report = tenant.caller.get(path, params=asked).json()
            yield report
            if not report["valid"] or not report["nextCursor"]:
                break
            asked = {**asked, "cursor": report["nextCursor"]}


def encoded(checkpoint: str) -> str:
    """Return a checkpoint as a query has it."""
    return urlsafe_b64encode(checkpoint.encode()).decode().rstrip("=")


def unfinished(tenant: Tenant) -> list[str]:
    """Return the exports that have not ended yet."""
    return [export for export in tenant.exports if _export(tenant, export)["status"] not in _ENDED]


def bad_exports(tenant: Tenant) -> list[str]:
    """Return the exports that are not completed, or whose file is another than they say."""
    found = []
    for export in tenant.exports:
        record = _export(tenant, export)
        file = httpx.get(record["downloadUrl"], trust_env=False).content if record["downloadUrl"] else b""
        if record["status"] != "completed" or sha256(file).hexdigest() != record["sha256"]:
            found.append(f"{export}: {record['status']}, {record['error']}")
    return found


def dead_letters(stage: LocalStage) -> dict[str, int]:
    """Return how many messages each dead-letter queue holds that has any."""
    client = boto3.client(
        "sqs",
        endpoint_url=stage.emulator_url,
        region_name="us-east-1",
        aws_access_key_id="local",
        aws_secret_access_key="local",  # noqa: S106 - the emulator's  # nosec B106
    )
    wanted = "ApproximateNumberOfMessages"
    found: dict[str, int] = {}
    for url in client.list_queues()["QueueUrls"]:
        if "-dead" in url:
            count = int(client.get_queue_attributes(QueueUrl=url, AttributeNames=[wanted])["Attributes"][wanted])
            found |= {url.rpartition("/")[2]: count} if count else {}
    return found


def _export(tenant: Tenant, export: str) -> dict[str, Any]:
    path = f"/organizations/{tenant.organization}/audit-log/export-async/{export}"
    record: dict[str, Any] = tenant.caller.get(path).json()
    return record
