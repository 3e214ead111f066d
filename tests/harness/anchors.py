"""The anchors in their bucket, also as someone with access to the bucket forges them."""

from collections.abc import Callable
from typing import Any

import pytest

from chalicelib.features.audit.log.logic import anchors
from chalicelib.features.audit.log.logic.anchors import LatestAnchor
from chalicelib.kernel.audit_log import ledger
from chalicelib.kernel.audit_log.ledger import head_key
from chalicelib.kernel.core import aws
from chalicelib.kernel.core.settings import settings
from chalicelib.kernel.work.queues import Message
from tests.harness import snapshots
from tests.harness.sample_entity import create_logged_parcel
from tests.harness.workers import Workers

_SIZE_LIMIT = 10**12


def anchor_key(log: str, size: int) -> str:
    """Return the object key of the anchor of a log at a size."""
    return f"{log}/{_SIZE_LIMIT - size:012d}"


def anchored_sizes(log: str) -> list[int]:
    """Return the sizes at which a log was anchored, in descending order. Each must be written once."""
    response = _s3().list_object_versions(Bucket=settings().anchors_bucket, Prefix=f"{log}/")
    keys = [str(version["Key"]) for version in response.get("Versions", [])]
    assert len(keys) == len(set(keys))
    return [_SIZE_LIMIT - int(key.partition("/")[2]) for key in keys]


def read_anchor(log: str, size: int) -> str:
    content = _s3().get_object(Bucket=settings().anchors_bucket, Key=anchor_key(log, size))["Body"].read()
    return str(content.decode())


def put_anchor(log: str, size: int, data: bytes) -> None:
    """Write a forged anchor into the bucket, bypassing the service."""
    _s3().put_object(Bucket=settings().anchors_bucket, Key=anchor_key(log, size), Body=data)


def replace_anchor(log: str, size: int, data: bytes) -> None:
    """Write an anchor in place of all its versions, as only somebody who overcomes Object Lock can."""
    versions = _s3().list_object_versions(Bucket=settings().anchors_bucket, Prefix=anchor_key(log, size))["Versions"]
    for version in versions:
        _s3().delete_object(Bucket=settings().anchors_bucket, Key=version["Key"], VersionId=version["VersionId"])
    put_anchor(log, size, data)


def hide_anchor(log: str, size: int) -> None:
    """Hide an anchor behind a delete marker."""
    _s3().delete_object(Bucket=settings().anchors_bucket, Key=anchor_key(log, size))


def awaits_anchor(log: str) -> bool:
    """Return whether the head of a log has not been anchored yet."""
    return "index2pk" in snapshots.items_by_key()[head_key(log)]


def run_anchoring(workers: Workers) -> None:
    """Run the hourly schedule of the anchors, and process the messages that it queues, also the delayed ones."""
    workers.run_hourly_anchoring()
    workers.deliver(include_delayed=True)


def anchor_message(log_id: str) -> Message:
    """Return the queue message that anchors a log."""
    pk, sk = head_key(log_id)
    return {"task": "audit.anchor", "pk": pk, "sk": sk}


def append_before_next_anchor_read(monkeypatch: pytest.MonkeyPatch, after_append: Callable[[], object]) -> None:
    """Append to a log and call a function, immediately before the next read of its latest anchor."""
    load_latest_anchor_or_none = anchors.load_latest_anchor_or_none

    def load_after_append(log: str) -> LatestAnchor | None:
        monkeypatch.setattr(anchors, "load_latest_anchor_or_none", load_latest_anchor_or_none)
        create_logged_parcel("meanwhile", log)
        ledger.append_pending_and_return_longest_wait_ms(log)
        after_append()
        return load_latest_anchor_or_none(log)

    monkeypatch.setattr(anchors, "load_latest_anchor_or_none", load_after_append)


def _s3() -> Any:
    return aws.client("s3")
