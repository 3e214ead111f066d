"""Files in S3: large ones uploaded in parts, small ones in one request."""

from collections.abc import Collection, Iterator
from typing import Any, Final

from botocore.exceptions import ClientError

from chalicelib.kernel.core import aws

MIN_PART_BYTES: Final = 5 * 1024 * 1024
"""Minimum size of all parts but the last (S3)."""

_MISSING: Final = frozenset({"404", "NoSuchKey", "NoSuchUpload"})
_THERE: Final = frozenset({"PreconditionFailed", "ConditionalRequestConflict"})
_CHUNK: Final = 1024 * 1024


class FileNotFound(Exception):
    """The file or the upload does not exist."""


def start_upload(bucket: str, key: str, content_type: str) -> str:
    """Start a multipart upload, and return its id."""
    answer = _call("create_multipart_upload", Bucket=bucket, Key=key, ContentType=content_type)
    return str(answer["UploadId"])


def upload_part(bucket: str, key: str, upload: str, number: int, data: bytes) -> None:
    """Upload a part, numbered from 1 to 10,000. Raises FileNotFound."""
    _call("upload_part", Bucket=bucket, Key=key, UploadId=upload, PartNumber=number, Body=data)


def complete_upload(bucket: str, key: str, upload: str, numbers: Collection[int]) -> None:
    """Complete a file from its parts, in the order of their numbers.

    Raises FileNotFound if a part or the upload does not exist, for example because the upload is complete already.
    """
    parts: list[dict[str, Any]] = []
    page: dict[str, Any] = {"IsTruncated": True}
    while page["IsTruncated"]:
        after = {"PartNumberMarker": page["NextPartNumberMarker"]} if "NextPartNumberMarker" in page else {}
        page = _call("list_parts", Bucket=bucket, Key=key, UploadId=upload, **after)
        parts += [_part_entry(part) for part in page.get("Parts", []) if part["PartNumber"] in numbers]
    if len(parts) < len(numbers):
        raise FileNotFound(key)
    _call("complete_multipart_upload", Bucket=bucket, Key=key, UploadId=upload, MultipartUpload={"Parts": parts})


def write_file(bucket: str, key: str, data: bytes) -> None:
    """Write a small file, replacing an existing one."""
    _call("put_object", Bucket=bucket, Key=key, Body=data)


def write_file_once(bucket: str, key: str, data: bytes) -> bool:
    """Write a small file unless it exists. Return whether it was written."""
    try:
        # S3 requires a checksum for objects with a lock.
        _call("put_object", Bucket=bucket, Key=key, Body=data, IfNoneMatch="*", ChecksumAlgorithm="CRC32")
    except ClientError as error:
        if error.response["Error"]["Code"] in _THERE:
            return False
        raise
    return True


def find_first_key(bucket: str, prefix: str) -> str | None:
    """Return the first key with a prefix, in lexicographic order, or None."""
    answer = _call("list_objects_v2", Bucket=bucket, Prefix=prefix, MaxKeys=1)
    return next((str(found["Key"]) for found in answer.get("Contents", [])), None)


def read_file(bucket: str, key: str) -> Iterator[bytes]:
    """Yield the bytes of a file in chunks of about 1 MB. Raises FileNotFound."""
    stream = _call("get_object", Bucket=bucket, Key=key)["Body"]
    with aws.translate_errors("file store"):
        yield from stream.iter_chunks(_CHUNK)


def delete_prefix(bucket: str, prefix: str) -> None:
    """Delete all files with a prefix, and abort their uploads."""
    while found := _call("list_multipart_uploads", Bucket=bucket, Prefix=prefix).get("Uploads"):
        for upload in found:
            _call("abort_multipart_upload", Bucket=bucket, Key=upload["Key"], UploadId=upload["UploadId"])
    while found := _call("list_objects_v2", Bucket=bucket, Prefix=prefix).get("Contents"):
        for file in found:
            _call("delete_object", Bucket=bucket, Key=file["Key"])


def presign_url(bucket: str, key: str, *, name: str, seconds: int) -> str:
    """Return a URL from which anybody can download the file as `name`, for some seconds. It takes no request."""
    parameters = {"Bucket": bucket, "Key": key, "ResponseContentDisposition": f'attachment; filename="{name}"'}
    return str(aws.client("s3").generate_presigned_url("get_object", Params=parameters, ExpiresIn=seconds))


def _part_entry(part: dict[str, Any]) -> dict[str, Any]:
    # If parts were uploaded with checksums, S3 requires them again.
    return {name: part[name] for name in ("PartNumber", "ETag", "ChecksumCRC32") if name in part}


def _call(operation: str, **words: Any) -> Any:
    try:
        with aws.translate_errors("file store"):
            return getattr(aws.client("s3"), operation)(**words)
    except ClientError as error:
        if error.response["Error"]["Code"] in _MISSING:
            raise FileNotFound(words["Key"]) from error
        raise
