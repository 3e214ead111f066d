"""Files in S3: large ones made part by part, small ones written once. A bucket is named by its setting."""

from collections.abc import Collection, Iterator
from typing import Any, Final

from botocore.exceptions import ClientError

from chalicelib.kernel.core import aws

MIN_PART_BYTES: Final = 5 * 1024 * 1024
"""What every part of a file but the last has to have (S3)."""

_MISSING: Final = frozenset({"404", "NoSuchKey", "NoSuchUpload"})
_THERE: Final = frozenset({"PreconditionFailed", "ConditionalRequestConflict"})
_CHUNK: Final = 1024 * 1024


class FileNotFound(Exception):
    """There is no such file, or it is no longer being made."""


def start_upload(bucket: str, key: str, content_type: str) -> str:
    """Begin a file that is made part by part, and return the upload's id."""
    answer = _call("create_multipart_upload", Bucket=bucket, Key=key, ContentType=content_type)
    return str(answer["UploadId"])


def upload_part(bucket: str, key: str, upload: str, number: int, data: bytes) -> None:
    """Put a part, numbered from 1 to 10,000. Raises NoFile."""
    _call("upload_part", Bucket=bucket, Key=key, UploadId=upload, PartNumber=number, Body=data)


def complete_upload(bucket: str, key: str, upload: str, numbers: Collection[int]) -> None:
    """Make the file of these parts, in the order of their numbers.

    Raises NoFile if a part is gone, and if it is no longer being made: because it is complete already, for one.
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
    """Put a small file, in the place of one of that name."""
    _call("put_object", Bucket=bucket, Key=key, Body=data)


def write_file_once(bucket: str, key: str, data: bytes) -> bool:
    """Put a small file if there is none of that name; return whether there was none."""
    try:
        # S3 takes nothing without a checksum that it is to lock.
        _call("put_object", Bucket=bucket, Key=key, Body=data, IfNoneMatch="*", ChecksumAlgorithm="CRC32")
    except ClientError as error:
        if error.response["Error"]["Code"] in _THERE:
            return False
        raise
    return True


def find_first_key(bucket: str, prefix: str) -> str | None:
    """Return the name of the first file, in the order of names, that begins so; None if there is none."""
    answer = _call("list_objects_v2", Bucket=bucket, Prefix=prefix, MaxKeys=1)
    return next((str(found["Key"]) for found in answer.get("Contents", [])), None)


def read_file(bucket: str, key: str) -> Iterator[bytes]:
    """Yield a file's bytes, a megabyte or so at a time. Raises NoFile."""
    stream = _call("get_object", Bucket=bucket, Key=key)["Body"]
    with aws.translate_errors("file store"):
        yield from stream.iter_chunks(_CHUNK)


def delete_prefix(bucket: str, prefix: str) -> None:
    """Remove every file whose name begins so, and whatever is still being made of one."""
    while found := _call("list_multipart_uploads", Bucket=bucket, Prefix=prefix).get("Uploads"):
        for upload in found:
            _call("abort_multipart_upload", Bucket=bucket, Key=upload["Key"], UploadId=upload["UploadId"])
    while found := _call("list_objects_v2", Bucket=bucket, Prefix=prefix).get("Contents"):
        for file in found:
            _call("delete_object", Bucket=bucket, Key=file["Key"])


def presign_url(bucket: str, key: str, *, name: str, seconds: int) -> str:
    """Return a URL by which anybody can fetch the file as `name`, for so many seconds. Asks S3 for nothing."""
    asked = {"Bucket": bucket, "Key": key, "ResponseContentDisposition": f'attachment; filename="{name}"'}
    return str(aws.client("s3").generate_presigned_url("get_object", Params=asked, ExpiresIn=seconds))


def _part_entry(part: dict[str, Any]) -> dict[str, Any]:
    # Where S3 was given a checksum of each part, it wants to hear them again.
    return {name: part[name] for name in ("PartNumber", "ETag", "ChecksumCRC32") if name in part}


def _call(operation: str, **words: Any) -> Any:
    try:
        with aws.translate_errors("file store"):
            return getattr(aws.client("s3"), operation)(**words)
    except ClientError as error:
        if error.response["Error"]["Code"] in _MISSING:
            raise FileNotFound(words["Key"]) from error
        raise
