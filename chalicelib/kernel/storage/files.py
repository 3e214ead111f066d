"""Files in S3: large ones uploaded in parts, small ones in one request."""

from collections.abc import Collection, Iterator
from typing import Any, Final, NamedTuple

from botocore.exceptions import ClientError

from chalicelib.kernel.core import aws

MIN_PART_BYTES: Final = 5 * 1024 * 1024
"""Minimum size of all parts but the last (S3)."""

_NOT_FOUND_CODES: Final = frozenset({"404", "NoSuchKey", "NoSuchUpload", "NoSuchVersion"})
_EXISTS_CODES: Final = frozenset({"PreconditionFailed", "ConditionalRequestConflict"})
_CHUNK_BYTES: Final = 1024 * 1024
_SORTS_AFTER_SLASH: Final = "0"


class FileNotFound(Exception):
    """The file, the version or the upload does not exist."""


class OriginalVersion(NamedTuple):
    """The oldest version of a file, and whether it is the only one: nobody has replaced or hidden the file since.

    `version_id` is empty if only delete markers exist.
    """

    key: str
    version_id: str
    is_only_version: bool


def start_upload(bucket: str, key: str, content_type: str) -> str:
    """Start a multipart upload, and return its id."""
    response = _call_s3("create_multipart_upload", Bucket=bucket, Key=key, ContentType=content_type)
    return str(response["UploadId"])


def upload_part(bucket: str, key: str, upload_id: str, part_number: int, data: bytes) -> None:
    """Upload a part, numbered from 1 to 10,000. Raises FileNotFound."""
    _call_s3("upload_part", Bucket=bucket, Key=key, UploadId=upload_id, PartNumber=part_number, Body=data)


def complete_upload(bucket: str, key: str, upload_id: str, part_numbers: Collection[int]) -> None:
    """Complete a file from its parts, in the order of their numbers.

    Raises FileNotFound if a part or the upload does not exist, for example because the upload is complete already.
    """
    parts: list[dict[str, Any]] = []
    page: dict[str, Any] = {"IsTruncated": True}
    while page["IsTruncated"]:
        after = {"PartNumberMarker": page["NextPartNumberMarker"]} if "NextPartNumberMarker" in page else {}
        page = _call_s3("list_parts", Bucket=bucket, Key=key, UploadId=upload_id, **after)
        # If parts were uploaded with checksums, S3 requires them again.
        parts += [
            {name: part[name] for name in ("PartNumber", "ETag", "ChecksumCRC32") if name in part}
            for part in page.get("Parts", [])
            if part["PartNumber"] in part_numbers
        ]
    if len(parts) < len(part_numbers):
        raise FileNotFound(key)
    _call_s3("complete_multipart_upload", Bucket=bucket, Key=key, UploadId=upload_id, MultipartUpload={"Parts": parts})


def write_file(bucket: str, key: str, data: bytes) -> None:
    """Write a small file, replacing an existing one."""
    _call_s3("put_object", Bucket=bucket, Key=key, Body=data)


def write_file_once(bucket: str, key: str, data: bytes) -> bool:
    """Write a small file unless it exists. Return whether it was written."""
    try:
        # S3 requires a checksum for objects with a lock.
        _call_s3("put_object", Bucket=bucket, Key=key, Body=data, IfNoneMatch="*", ChecksumAlgorithm="CRC32")
    except ClientError as error:
        if error.response["Error"]["Code"] in _EXISTS_CODES:
            return False
        raise
    return True


def find_original_of_first_key(bucket: str, prefix: str) -> OriginalVersion | None:
    """Return the oldest version of the first key with a prefix, in lexicographic order, or None.

    A delete marker does not hide a key. If nobody has replaced or hidden the file, this takes one call.
    """
    # Two entries show whether the first key has another version: S3 sorts by key, and returns the newest version first.
    page = _list_versions(bucket, prefix, max_keys=2)
    keys = [entry["Key"] for entry in (*page.versions, *page.delete_markers)]
    if not keys:
        return None
    key, version_ids, markers_count = min(keys), list[str](), 0
    while True:
        version_ids += [version["VersionId"] for version in page.versions if version["Key"] == key]
        markers_count += sum(marker["Key"] == key for marker in page.delete_markers)
        if not page.next_page or any(each["Key"] != key for each in (*page.versions, *page.delete_markers)):
            break
        page = _list_versions(bucket, prefix, after=page.next_page)
    return OriginalVersion(key, version_ids[-1] if version_ids else "", (len(version_ids), markers_count) == (1, 0))


def list_folders(bucket: str, after: str = "") -> list[str]:
    """Return the names of up to 1,000 top-level folders after one, in order. A delete marker does not hide a folder."""
    skipped = {"KeyMarker": after + _SORTS_AFTER_SLASH} if after else {}
    page = _call_s3("list_object_versions", Bucket=bucket, Delimiter="/", **skipped)
    return [prefix["Prefix"].removesuffix("/") for prefix in page.get("CommonPrefixes", [])]


def iter_file_chunks(bucket: str, key: str, version_id: str | None = None) -> Iterator[bytes]:
    """Yield the bytes of a file in chunks of about 1 MB, by default of its newest version. Raises FileNotFound."""
    version = {"VersionId": version_id} if version_id is not None else {}
    stream = _call_s3("get_object", Bucket=bucket, Key=key, **version)["Body"]
    with aws.raise_unavailable_on_aws_outage("file store"):
        yield from stream.iter_chunks(_CHUNK_BYTES)


def delete_files_and_uploads_with_prefix(bucket: str, prefix: str) -> None:
    """Delete all files with a prefix, and abort their uploads."""
    while uploads := _call_s3("list_multipart_uploads", Bucket=bucket, Prefix=prefix).get("Uploads"):
        for upload in uploads:
            _call_s3("abort_multipart_upload", Bucket=bucket, Key=upload["Key"], UploadId=upload["UploadId"])
    while files := _call_s3("list_objects_v2", Bucket=bucket, Prefix=prefix).get("Contents"):
        for file in files:
            _call_s3("delete_object", Bucket=bucket, Key=file["Key"])


def presign_url(bucket: str, key: str, *, file_name: str, valid_seconds: int) -> str:
    """Return a URL from which anybody can download the file as `file_name`, for some seconds. This calls no AWS API."""
    parameters = {"Bucket": bucket, "Key": key, "ResponseContentDisposition": f'attachment; filename="{file_name}"'}
    return str(aws.client("s3").generate_presigned_url("get_object", Params=parameters, ExpiresIn=valid_seconds))


class _VersionsPage(NamedTuple):
    """Versions and delete markers, and the arguments for the next page, if there is one."""

    versions: list[dict[str, Any]]
    delete_markers: list[dict[str, Any]]
    next_page: dict[str, str]


def _list_versions(
    bucket: str, prefix: str, *, max_keys: int = 1_000, after: dict[str, str] | None = None
) -> _VersionsPage:
    page = _call_s3("list_object_versions", Bucket=bucket, Prefix=prefix, MaxKeys=max_keys, **(after or {}))
    markers = {name: page[f"Next{name}"] for name in ("KeyMarker", "VersionIdMarker") if page.get(f"Next{name}")}
    return _VersionsPage(
        page.get("Versions", []), page.get("DeleteMarkers", []), markers if page["IsTruncated"] else {}
    )


def _call_s3(operation_name: str, **arguments: Any) -> Any:
    try:
        with aws.raise_unavailable_on_aws_outage("file store"):
            return getattr(aws.client("s3"), operation_name)(**arguments)
    except ClientError as error:
        if error.response["Error"]["Code"] in _NOT_FOUND_CODES:
            raise FileNotFound(arguments["Key"]) from error
        raise
