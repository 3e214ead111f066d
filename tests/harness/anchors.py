"""The anchors in their bucket, and attacks on logs by someone with access to the table or the bucket."""

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

_SIZE_LIMIT = 10**12


def name(log: str, size: int) -> str:
    """Return the object key of the anchor of a log at a size."""
    return f"{log}/{_SIZE_LIMIT - size:012d}"


def anchored(log: str) -> list[int]:
    """Return the sizes at which a log was anchored, in descending order. Each must be written once."""
    response = _s3().list_object_versions(Bucket=settings().anchors_bucket, Prefix=f"{log}/")
    keys = [str(version["Key"]) for version in response.get("Versions", [])]
    assert len(keys) == len(set(keys))
    return [_SIZE_LIMIT - int(key.partition("/")[2]) for key in keys]


def read(log: str, size: int) -> str:
    """Return the content of an anchor."""
    content = _s3().get_object(Bucket=settings().anchors_bucket, Key=name(log, size))["Body"].read()
    return str(content.decode())


def put(log: str, size: int, data: bytes) -> None:
    """Write a forged anchor into the bucket, bypassing the service."""
    _s3().put_object(Bucket=settings().anchors_bucket, Key=name(log, size), Body=data)


def waits(log: str) -> bool:
    """Return whether the head of a log has not been anchored yet."""
    return "index2pk" in snapshots.stored()[head_key(log)]


def anchor(workers: Workers) -> None:
    """Run the hourly schedule of the anchors, and process the messages that it queues, also the delayed ones."""
    workers.anchor()
    workers.deliver(delayed=True)


def overtake(monkeypatch: pytest.MonkeyPatch, then: Callable[[], object]) -> None:
    """Append to a log and call a function, immediately before the next read of its latest anchor."""
    load_latest_anchor = anchors.load_latest_anchor

    def load_after_append(log: str) -> Head | None:
        monkeypatch.setattr(anchors, "load_latest_anchor", load_latest_anchor)
        mutate("meanwhile", log)
        ledger.append_pending(log)
        then()
        return load_latest_anchor(log)

    monkeypatch.setattr(anchors, "load_latest_anchor", load_after_append)


def end_of(organization: Founded) -> list[Item]:
    """Return the items that record the size of a log: its head and its chains."""
    return [head(organization), *chains(organization)]


def cut_off(organization: Founded, earlier: list[Item]) -> None:
    """Remove the entries after an earlier state of a log, and restore the head and the chains of that state."""
    for sequence in range(earlier[0]["size"] + 1, head(organization)["size"] + 1):
        cloud.remove(entry(organization, sequence))
    for item in end_of(organization):
        cloud.remove(item)
    for item in earlier:
        cloud.put(item)


def _s3() -> Any:
    return aws.client("s3")
