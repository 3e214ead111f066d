"""Files in S3: multipart uploads, small files, presigned URLs and failures of the store."""

from typing import Any

import pytest

from chalicelib.kernel.core import aws
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.core.settings import settings
from chalicelib.kernel.storage import files
from tests.harness import exports
from tests.harness.exports import unfinished_uploads
from tests.harness.faults import Fault, inject_fault

pytestmark = pytest.mark.usefixtures("aws")


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the name of a bucket that accepts small parts."""
    exports.set_min_part_bytes(monkeypatch, 3)
    return settings().exports_bucket


def read_content(bucket: str, key: str) -> bytes:
    return b"".join(files.iter_file_chunks(bucket, key))


def list_keys(bucket: str) -> list[str]:
    return [listed["Key"] for listed in aws.client("s3").list_objects_v2(Bucket=bucket).get("Contents", [])]


class TestMultipartUpload:
    def test_a_file_exists_after_its_upload_is_complete(self, bucket):
        upload = files.start_upload(bucket, "a/file", "application/gzip")
        files.upload_part(bucket, "a/file", upload, 1, b"one,")
        files.upload_part(bucket, "a/file", upload, 2, b"two")
        assert files.find_first_key(bucket, "a/") is None
        files.complete_upload(bucket, "a/file", upload, [1, 2])
        assert read_content(bucket, "a/file") == b"one,two"
        assert aws.client("s3").head_object(Bucket=bucket, Key="a/file")["ContentType"] == "application/gzip"

    def test_a_file_consists_of_the_given_parts_in_order_of_their_numbers(self, bucket):
        upload = files.start_upload(bucket, "file", "text/plain")
        for number, data in ((7, b"seven"), (2, b"two,"), (3, b"of nobody"), (5, b"five,")):
            files.upload_part(bucket, "file", upload, number, data)
        files.complete_upload(bucket, "file", upload, [2, 5, 7])
        assert read_content(bucket, "file") == b"two,five,seven"

    def test_an_upload_may_have_several_pages_of_parts(self, bucket, monkeypatch):
        client = aws.client("s3")
        list_parts = client.list_parts
        monkeypatch.setattr(client, "list_parts", lambda **kwargs: list_parts(**kwargs, MaxParts=2))
        upload = files.start_upload(bucket, "file", "text/plain")
        for number in range(1, 8):
            files.upload_part(bucket, "file", upload, number, b"%d.." % number)
        files.complete_upload(bucket, "file", upload, range(1, 8))
        assert read_content(bucket, "file") == b"1..2..3..4..5..6..7.."

    def test_an_upload_with_a_missing_part_fails(self, bucket):
        upload = files.start_upload(bucket, "file", "text/plain")
        files.upload_part(bucket, "file", upload, 1, b"one")
        with pytest.raises(files.FileNotFound):
            files.complete_upload(bucket, "file", upload, [1, 2])
        assert files.find_first_key(bucket, "file") is None

    def test_an_upload_is_completed_once(self, bucket):
        upload = files.start_upload(bucket, "file", "text/plain")
        files.upload_part(bucket, "file", upload, 1, b"one")
        files.complete_upload(bucket, "file", upload, [1])
        with pytest.raises(files.FileNotFound):
            files.complete_upload(bucket, "file", upload, [1])
        assert read_content(bucket, "file") == b"one"

    def test_the_checksums_of_parts_are_sent_on_completion(self, bucket, monkeypatch):
        upload, completed_parts = files.start_upload(bucket, "file", "text/plain"), list[dict[str, Any]]()
        files.upload_part(bucket, "file", upload, 1, b"one")
        client = aws.client("s3")
        list_parts, complete = client.list_parts, client.complete_multipart_upload

        def with_checksums(**kwargs: Any) -> dict[str, Any]:
            page: dict[str, Any] = list_parts(**kwargs)
            return page | {"Parts": [part | {"ChecksumCRC32": "5wSQZA=="} for part in page["Parts"]]}

        def complete_upload(**kwargs: Any) -> Any:
            completed_parts.extend(kwargs["MultipartUpload"]["Parts"])
            return complete(**kwargs)

        monkeypatch.setattr(client, "list_parts", with_checksums)
        monkeypatch.setattr(client, "complete_multipart_upload", complete_upload)
        files.complete_upload(bucket, "file", upload, [1])
        assert [part["ChecksumCRC32"] for part in completed_parts] == ["5wSQZA=="]


class TestWriteFile:
    def test_a_file_replaces_the_previous_one(self, bucket):
        for data in (b"first", b"second"):
            files.write_file(bucket, "file", data)
        assert read_content(bucket, "file") == b"second"

    def test_write_file_once_keeps_an_existing_file(self, bucket):
        assert files.write_file_once(bucket, "file", b"first")
        assert not files.write_file_once(bucket, "file", b"second")
        assert read_content(bucket, "file") == b"first"


class TestReading:
    def test_the_first_key_in_order_is_found(self, bucket):
        for name in ("b/2", "b/1", "a/3", "b"):
            files.write_file(bucket, name, b"")
        assert [files.find_first_key(bucket, prefix) for prefix in ("", "b/", "c")] == ["a/3", "b/1", None]

    def test_reading_a_missing_file_raises_file_not_found(self, bucket):
        with pytest.raises(files.FileNotFound):
            read_content(bucket, "nothing")

    def test_a_presigned_url_expires_and_needs_no_call(self, bucket):
        with inject_fault(Fault.INTERNAL_ERROR, times=None) as injected:
            url = files.presign_url(bucket, "a/file", file_name="report.gz", valid_seconds=60)
        assert injected.failed_call is None
        assert "/a/file?" in url
        assert "X-Amz-Expires=60&" in url
        assert "filename%3D%22report.gz%22" in url

    @pytest.mark.parametrize(
        ("region", "host"),
        [("us-east-1", "s3.amazonaws.com"), ("eu-south-1", "s3.eu-south-1.amazonaws.com")],
    )
    def test_a_presigned_url_has_the_host_of_its_region(self, bucket, region, host, monkeypatch):
        monkeypatch.setenv("AWS_REGION", region)
        aws.reset_clients()
        url = files.presign_url(bucket, "a/1", file_name="a", valid_seconds=900)
        aws.reset_clients()
        assert url.startswith(f"https://{bucket}.{host}/a/1?")


class TestDeletePrefix:
    def test_it_deletes_files_and_uploads_below_a_prefix_only(self, bucket):
        for name in ("a/1", "a/b/2", "ab/3", "b/4"):
            files.write_file(bucket, name, b"")
            files.start_upload(bucket, name, "text/plain")
        files.start_upload(bucket, "a/1", "text/plain")
        files.delete_files_and_uploads_with_prefix(bucket, "a/")
        assert list_keys(bucket) == ["ab/3", "b/4"]
        assert sorted(unfinished_uploads()) == ["ab/3", "b/4"]

    def test_it_succeeds_without_files(self, bucket):
        files.delete_files_and_uploads_with_prefix(bucket, "nothing")
        assert list_keys(bucket) == []


class TestUnresponsiveFileStore:
    @pytest.mark.parametrize("fault", [Fault.THROTTLED, Fault.INTERNAL_ERROR, Fault.TIMED_OUT, Fault.RESPONSE_LOST])
    @pytest.mark.parametrize(
        "operation",
        [
            lambda bucket: files.start_upload(bucket, "file", "text/plain"),
            lambda bucket: files.write_file(bucket, "file", b""),
            lambda bucket: files.write_file_once(bucket, "file", b""),
            lambda bucket: read_content(bucket, "there"),
            lambda bucket: files.find_first_key(bucket, ""),
            lambda bucket: files.delete_files_and_uploads_with_prefix(bucket, ""),
        ],
        ids=["start_upload", "write", "write_once", "read", "find_first", "delete_prefix"],
    )
    def test_a_failing_file_store_is_unavailable(self, bucket, operation, fault):
        files.write_file(bucket, "there", b"there")
        with inject_fault(fault, times=None), pytest.raises(Problem) as problem:
            operation(bucket)
        assert problem.value.code == "unavailable"
        assert "file store" in problem.value.detail
