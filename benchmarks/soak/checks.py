"""Checks after a soak, when no work is pending: logs, deliveries, files and queues."""

import time
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterable
from hashlib import sha256
from typing import Any, Final

import boto3
import httpx

from benchmarks.soak.tenants import Tenant
from tests.emulator.local_stage import LocalStage
from tests.emulator.log_reader import list_items
from tests.harness.receiver import Receiver

_POLL_INTERVAL_SECONDS: Final = 0.5
_FINAL_STATUSES: Final = ("completed", "failed")


def wait_until(is_done: Callable[[], bool], timeout_seconds: float) -> float:
    """Wait until a condition is true or the time-out has passed; return the elapsed seconds."""
    started_at = time.monotonic()
    while not is_done() and time.monotonic() < started_at + timeout_seconds:
        time.sleep(_POLL_INTERVAL_SECONDS)
    return round(time.monotonic() - started_at, 1)


def count_pending_entries(tenant: Tenant) -> int:
    """Return how many entries of a tenant's log are not appended yet."""
    path = f"/organizations/{tenant.organization}/audit-log/verify-integrity"
    return int(tenant.caller.get(path).json()["pendingEntries"])


def arrival_times_by_event(receiver: Receiver, path: str) -> dict[str, list[float]]:
    """Return the arrival times of events at a path of the receiver, by event id, as Unix timestamps."""
    arrival_times: dict[str, list[float]] = {}
    for request in list(receiver.requests):
        if request.path == path:
            arrival_times.setdefault(request.headers["webhook-id"], []).append(request.received_at)
    return arrival_times


def count_unsent_entries(tenant: Tenant) -> int:
    """Return how many entries of a tenant's log its log stream has not sent yet."""
    path = f"/organizations/{tenant.organization}/log-streams"
    return sum(stream["lagEntries"] for stream in list_items(tenant.caller, path))


def explained_event_ids(tenant: Tenant, webhook: str) -> set[str]:
    """Return the events whose delivery has not succeeded, but shows an attempt or the time of the next one."""
    path = f"/organizations/{tenant.organization}/webhooks/{webhook}/deliveries"
    return {
        delivery["eventId"]
        for delivery in list_items(tenant.caller, path)
        if delivery["status"] != "succeeded" and (delivery["attempts"] or delivery["nextAttemptAt"])
    }


def find_verification_failures(tenant: Tenant) -> list[str]:
    """Verify a tenant's whole log, and each saved checkpoint against it; return the failed reports."""
    return [f"{report}" for report in _integrity_reports(tenant) if not report["valid"] or report["pendingEntries"]]


def _integrity_reports(tenant: Tenant) -> Iterable[dict[str, Any]]:
    path = f"/organizations/{tenant.organization}/audit-log/verify-integrity"
    for checkpoint in ("", *tenant.checkpoints):
        query = {"checkpoint": encode_checkpoint(checkpoint)} if checkpoint else {}
        while True:
            report = tenant.caller.get(path, params=query).json()
            yield report
            if not report["valid"] or not report["nextCursor"]:
                break
            query = {**query, "cursor": report["nextCursor"]}


def encode_checkpoint(checkpoint: str) -> str:
    """Encode a checkpoint for a query parameter."""
    return urlsafe_b64encode(checkpoint.encode()).decode().rstrip("=")


def unfinished_exports(tenant: Tenant) -> list[str]:
    """Return the exports that are neither completed nor failed."""
    return [export for export in tenant.export_ids if _get_export(tenant, export)["status"] not in _FINAL_STATUSES]


def find_invalid_exports(tenant: Tenant) -> list[str]:
    """Return the exports that are not completed, or whose file does not match its digest."""
    violations = []
    for export in tenant.export_ids:
        record = _get_export(tenant, export)
        file = httpx.get(record["downloadUrl"], trust_env=False).content if record["downloadUrl"] else b""
        if record["status"] != "completed" or sha256(file).hexdigest() != record["sha256"]:
            violations.append(f"{export}: {record['status']}, {record['error']}")
    return violations


def count_dead_letters(stage: LocalStage) -> dict[str, int]:
    """Return the number of messages of each dead-letter queue that is not empty."""
    client = boto3.client(
        "sqs",
        endpoint_url=stage.emulator_url,
        region_name="us-east-1",
        aws_access_key_id="local",
        aws_secret_access_key="local",  # noqa: S106 - the emulator's  # nosec B106
    )
    count_attribute = "ApproximateNumberOfMessages"
    counts: dict[str, int] = {}
    for url in client.list_queues()["QueueUrls"]:
        if "-dead" in url:
            count = int(
                client.get_queue_attributes(QueueUrl=url, AttributeNames=[count_attribute])["Attributes"][
                    count_attribute
                ]
            )
            counts |= {url.rpartition("/")[2]: count} if count else {}
    return counts


def _get_export(tenant: Tenant, export_id: str) -> dict[str, Any]:
    path = f"/organizations/{tenant.organization}/audit-log/export-async/{export_id}"
    record: dict[str, Any] = tenant.caller.get(path).json()
    return record
