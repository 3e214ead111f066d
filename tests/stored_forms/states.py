"""States of the table and the buckets, and the differences between them, as JSON."""

import base64
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Final

from moto.core.models import DEFAULT_ACCOUNT_ID
from moto.s3.models import s3_backends

from chalicelib.kernel.storage.item_json import item_from_dynamodb_json
from tests.harness import memory_aws, snapshots

Json = dict[str, Any]

_MAX_BASE64_LENGTH: Final = 20_000
"""The maximum length of a binary value in base64. Longer ones are recorded as a hash."""


@dataclass(frozen=True)
class Difference:
    """Written and removed items, in DynamoDB's JSON format, and files, in base64 by `bucket/name`."""

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
    def capture(cls) -> "State":
        return cls(snapshots.take_snapshot(), _files())

    def restore(self) -> None:
        snapshots.restore_snapshot(self.table)
        _put_files(self.files)

    def difference_to(self, later: "State") -> Difference:
        before, after = _by_key(self.table), _by_key(later.table)
        changed = [key for key, item in after.items() if before.get(key) is not item]
        plain = {key: _plain(after[key]) for key in changed}
        written = sorted(key for key in changed if key not in before or _plain(before[key]) != plain[key])
        return Difference(
            items=[_with_hashes(memory_aws.to_wire_json(plain[key])) for key in written],
            removed=[[*key] for key in sorted(before.keys() - after.keys())],
            files={name: text for name, text in later.files.items() if self.files.get(name) != text},
            removed_files=sorted(self.files.keys() - later.files.keys()),
        )


def apply_difference(difference: Difference) -> None:
    for item in difference.items:
        memory_aws.put_item(item_from_dynamodb_json(item))
    for pk, sk in difference.removed:
        memory_aws.delete_item({"pk": pk, "sk": sk})
    for name in difference.removed_files:
        bucket, _, key = name.partition("/")
        del _buckets()[bucket].keys[key]
    _put_files(difference.files)


def _with_hashes(item: Json) -> Json:
    """Return an item whose large values, such as files of the reference data, are replaced by their SHA-256."""
    large = {name: value["B"] for name, value in item.items() if len(value.get("B", "")) > _MAX_BASE64_LENGTH}
    return {
        **item,
        **{name: {"B": base64.b64encode(sha256(text.encode()).digest()).decode()} for name, text in large.items()},
    }


def _files() -> dict[str, str]:
    return {
        f"{name}/{key}": base64.b64encode(file.value).decode()
        for name, bucket in _buckets().items()
        for key, file in sorted(bucket.keys.items())
    }


def _put_files(files: dict[str, str]) -> None:
    for name, content in files.items():
        bucket, _, key = name.partition("/")
        s3_backends[DEFAULT_ACCOUNT_ID]["global"].put_object(bucket, key, base64.b64decode(content))


def _buckets() -> Any:
    return s3_backends[DEFAULT_ACCOUNT_ID]["global"].buckets


def _by_key(table: snapshots.Snapshot) -> dict[tuple[str, str], Any]:
    return {(pk.value, sk.value): item for pk, partition in table.items() for sk, item in partition.items()}


def _plain(item: Any) -> Json:
    return item_from_dynamodb_json(item.to_json()["Attributes"])
