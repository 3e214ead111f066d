"""Anchors as they stand in their bucket, for those who own it; and logs that those who own the table cut off."""

from collections.abc import Callable
from typing import Any

import pytest

from chalicelib.features.audit.log.logic import anchors
from chalicelib.kernel.audit_log import ledger
from chalicelib.kernel.audit_log.ledger import Head, head_key
from chalicelib.kernel.core import aws
from chalicelib.kernel.core.settings import settings
from tests.harness import cloud, snapshots
from tests.harness.cloud import Item
from tests.harness.logs import chains, entry, head
from tests.harness.organizations import Founded
from tests.harness.parcels import mutate
from tests.harness.workers import Workers

_NEVER_REACHED = 10**12


def name(log: str, size: int) -> str:
    """Return what the anchor of a log's head of this size is called."""
    return f"{log}/{_NEVER_REACHED - size:012d}"


def anchored(log: str) -> list[int]:
    """Return the sizes at which a log was anchored, the newest first; each anchor was written but once."""
    listed = _s3().list_object_versions(Bucket=settings().anchors_bucket, Prefix=f"{log}/")
    keys = [str(version["Key"]) for version in listed.get("Versions", [])]
    assert len(keys) == len(set(keys))
    return [_NEVER_REACHED - int(key.partition("/")[2]) for key in keys]


def read(log: str, size: int) -> str:
    """Return what an anchor says."""
    found = _s3().get_object(Bucket=settings().anchors_bucket, Key=name(log, size))["Body"].read()
    return str(found.decode())


def put(log: str, size: int, data: bytes) -> None:
    """Put what looks like an anchor, past the service."""
    _s3().put_object(Bucket=settings().anchors_bucket, Key=name(log, size), Body=data)


def waits(log: str) -> bool:
    """Return whether a log's head waits for its anchor."""
    return "index2pk" in snapshots.stored()[head_key(log)]


def anchor(workers: Workers) -> None:
    """Let an hour be over: the schedule ticks, and what it queued is done, also what waits for the index meanwhile."""
    workers.anchor()
    workers.deliver(delayed=True)


def overtake(monkeypatch: pytest.MonkeyPatch, then: Callable[[], object]) -> None:
    """Let a log grow and be anchored, `then`, before the next reading of its newest anchor has seen any."""
    newest = anchors.load_latest_anchor

    def overtaken(log: str) -> Head | None:
        monkeypatch.setattr(anchors, "load_latest_anchor", newest)
        mutate("meanwhile", log)
        ledger.append_pending(log)
        then()
        return newest(log)

    monkeypatch.setattr(anchors, "load_latest_anchor", overtaken)


def end_of(organization: Founded) -> list[Item]:
    """Return what says how far a log is: its head, and its chains."""
    return [head(organization), *chains(organization)]


def cut_off(organization: Founded, earlier: list[Item]) -> None:
    """Take from a log's end all that came after an earlier one, and put that back."""
    for sequence in range(earlier[0]["size"] + 1, head(organization)["size"] + 1):
        cloud.remove(entry(organization, sequence))
    for item in end_of(organization):
        cloud.remove(item)
    for item in earlier:
        cloud.put(item)


def _s3() -> Any:
    return aws.client("s3")
