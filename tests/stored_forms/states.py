"""States: what the table and the buckets hold, as JSON, and how one state differs from another."""

import base64
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Final

from moto.core.models import DEFAULT_ACCOUNT_ID
from moto.s3.models import s3_backends

from chalicelib.kernel.core import aws
from chalicelib.kernel.storage.item_json import from_wire
from tests.harness import cloud, snapshots

Json = dict[str, Any]

_LONGEST: Final = 20_000
"""How many characters of base64 are recorded as they are."""


@dataclass(frozen=True)
class Difference:
    """What was written and removed: items in DynamoDB's own JSON, files in base64 by `bucket/name`."""

    items: list[Json] = field(default_factory=list)
    removed: list[list[str]] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)
    removed_files: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class State:
    """The content of the table and of the buckets at one time."""

    table: snapshots.Snapshot
    files: dict[str, str]

    @classmethod
    def present(cls) -> "State":
        """Return the present state."""
        return cls(snapshots.taken(), _files())

    def restore(self) -> None:
        """Let the table and the buckets hold this, and the queues nothing."""
        snapshots.put_back(self.table)
        _put_files(self.files)

    def until(self, later: "State") -> Difference:
        """Return how a later state differs from this one."""
        before, after = _by_key(self.table), _by_key(later.table)
        changed = [key for key, item in after.items() if before.get(key) is not item]
        plain = {key: _plain(after[key]) for key in changed}
        written = sorted(key for key in changed if key not in before or _plain(before[key]) != plain[key])
        return Difference(
            items=[_shortened(cloud.on_the_wire(plain[key])) for key in written],
            removed=[[*key] for key in sorted(before.keys() - after.keys())],
            files={name: text for name, text in later.files.items() if self.files.get(name) != text},
            removed_files=sorted(self.files.keys() - later.files.keys()),
        )


def apply(difference: Difference) -> None:
    """Make a difference to the present state."""
    for item in difference.items:
        cloud.put(from_wire(item))
    for pk, sk in difference.removed:
        cloud.remove({"pk": pk, "sk": sk})
    for name in difference.removed_files:
        bucket, _, key = name.partition("/")
        del _buckets()[bucket].keys[key]
    _put_files(difference.files)


def _shortened(item: Json) -> Json:
    """Return an item in which large files, such as the reference data's, are represented by their SHA-256."""
    large = {name: value["B"] for name, value in item.items() if len(value.get("B", "")) > _LONGEST}
    return {
        **item,
        **{name: {"B": base64.b64encode(sha256(text.encode()).digest()).decode()} for name, text in large.items()},
    }


def _files() -> dict[str, str]:
    return {
        f"{name}/{key}": base64.b64encode(found.value).decode()
        for name, bucket in _buckets().items()
        for key, found in sorted(bucket.keys.items())
    }


def _put_files(files: dict[str, str]) -> None:
    for name, content in files.items():
        bucket, _, key = name.partition("/")
        aws.client("s3").put_object(Bucket=bucket, Key=key, Body=base64.b64decode(content))


def _buckets() -> Any:
    return s3_backends[DEFAULT_ACCOUNT_ID]["global"].buckets


def _by_key(table: snapshots.Snapshot) -> dict[tuple[str, str], Any]:
    return {(pk.value, sk.value): item for pk, partition in table.items() for sk, item in partition.items()}


def _plain(item: Any) -> Json:
    return from_wire(item.to_json()["Attributes"])
