"""Corrects moto's ListObjectVersions: of the versions after a `KeyMarker` that is no key, moto omits the first."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final
from unittest.mock import patch

from moto.s3.models import S3Backend

_LIST: Final[Any] = S3Backend.list_object_versions


@contextmanager
def exact_key_markers() -> Iterator[None]:
    """List all versions after a marker within the block, as S3 does."""
    with patch.object(S3Backend, "list_object_versions", _list_object_versions):
        yield


def _list_object_versions(
    backend: S3Backend,
    bucket_name: str,
    delimiter: str | None = None,
    key_marker: str | None = None,
    version_id_marker: str | None = None,
    **options: Any,
) -> Any:
    if key_marker and not version_id_marker and not (delimiter and key_marker.endswith(delimiter)):
        key_marker, version_id_marker = _last_version_up_to(backend, bucket_name, key_marker)
    return _LIST(backend, bucket_name, delimiter, key_marker, version_id_marker=version_id_marker, **options)


def _last_version_up_to(backend: S3Backend, bucket_name: str, marker: str) -> tuple[str | None, str | None]:
    """Return the key and the version after which a list with this marker continues. They are None at its beginning."""
    versions, _, deletions, *_ = _LIST(backend, bucket_name, max_keys=None)
    last = max(
        (each for each in (*versions, *deletions) if each.name <= marker),
        key=lambda each: (each.name, -each.last_modified.timestamp()),
        default=None,
    )
    return (last.name, last.version_id) if last else (None, None)
