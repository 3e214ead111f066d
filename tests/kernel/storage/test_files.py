"""Files in S3: multipart uploads, small files, presigned URLs and failures of the store."""

import time
from typing import Any
from uuid import uuid4

import pytest

from chalicelib.kernel.core import aws
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.core.settings import settings
from chalicelib.kernel.storage import files
from tests.harness import exports
from tests.harness.aws_calls import record_calls
from tests.harness.exports import unfinished_uploads
from tests.harness.faults import Fault, inject_fault

pytestmark = pytest.mark.usefixtures("aws")


@pytest.fixture
def bucket(monkeypatch):
    """Return the name of a bucket that accepts small parts."""
    exports.set_min_part_bytes(monkeypatch, 3)
    return settings().exports_bucket


def read_content(bucket, key="file"):
    return b"".join(files.iter_file_chunks(bucket, key))


def upload_parts(bucket, parts_by_number):
    upload = files.start_upload(bucket, "file", "application/gzip")
    for number, data in parts_by_number.items():
        files.upload_part(bucket, "file", upload, number, data)
    return upload


def test_an_upload_becomes_a_file_of_the_given_parts_when_it_is_completed_once(bucket):
    upload = upload_parts(bucket, {7: b"seven", 2: b"two,", 3: b"of nobody", 5: b"five,"})
    assert files.find_original_of_first_key(bucket, "file") is None
    files.complete_upload(bucket, "file", upload, [2, 5, 7])
    assert read_content(bucket) == b"two,five,seven"
    assert aws.client("s3").head_object(Bucket=bucket, Key="file")["ContentType"] == "application/gzip"
    with pytest.raises(files.FileNotFound):
        files.complete_upload(bucket, "file", upload, [2])
    assert read_content(bucket) == b"two,five,seven"


def test_an_upload_may_have_several_pages_of_parts(bucket, monkeypatch):
    client = aws.client("s3")
    list_parts = client.list_parts
    monkeypatch.setattr(client, "list_parts", lambda **kwargs: list_parts(**kwargs, MaxParts=2))
    upload = upload_parts(bucket, {number: b"%d.." % number for number in range(1, 8)})
    files.complete_upload(bucket, "file", upload, range(1, 8))
    assert read_content(bucket) == b"1..2..3..4..5..6..7.."


def test_an_upload_with_a_missing_part_fails(bucket):
    upload = upload_parts(bucket, {1: b"one"})
    with pytest.raises(files.FileNotFound):
        files.complete_upload(bucket, "file", upload, [1, 2])
    assert files.find_original_of_first_key(bucket, "file") is None


def test_the_checksums_of_parts_are_sent_on_completion(bucket, monkeypatch):
    upload, completed_parts = upload_parts(bucket, {1: b"one"}), list[dict[str, Any]]()
    client = aws.client("s3")
    list_parts, complete = client.list_parts, client.complete_multipart_upload

    def with_checksums(**kwargs: Any) -> dict[str, Any]:
        page = list_parts(**kwargs)
        return page | {"Parts": [part | {"ChecksumCRC32": "5wSQZA=="} for part in page["Parts"]]}

    def complete_upload(**kwargs: Any) -> Any:
        completed_parts.extend(kwargs["MultipartUpload"]["Parts"])
        return complete(**kwargs)

    monkeypatch.setattr(client, "list_parts", with_checksums)
    monkeypatch.setattr(client, "complete_multipart_upload", complete_upload)
    files.complete_upload(bucket, "file", upload, [1])
    assert [part["ChecksumCRC32"] for part in completed_parts] == ["5wSQZA=="]


def test_a_written_file_replaces_the_previous_one_unless_it_is_written_once(bucket):
    for data in (b"first", b"second"):
        files.write_file(bucket, "file", data)
    assert not files.write_file_once(bucket, "file", b"third")
    assert read_content(bucket) == b"second"
    assert files.write_file_once(bucket, "other", b"first")
    assert read_content(bucket, "other") == b"first"
    with pytest.raises(files.FileNotFound):
        read_content(bucket, "nothing")


class TestOriginalVersion:
    @pytest.fixture
    def versioned_bucket(self):
        """Return the name of a new bucket, because the other tests use one without versions."""
        bucket = f"versions-{uuid4()}"
        aws.client("s3").create_bucket(Bucket=bucket)
        aws.client("s3").put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})
        return bucket

    @pytest.mark.parametrize("later_versions", [1, 2, 5, 1_100])
    def test_is_the_first_that_was_written_however_often_somebody_writes_or_deletes_it(
        self, versioned_bucket, later_versions
    ):
        files.write_file(versioned_bucket, "log/2", b"genuine")
        files.write_file(versioned_bucket, "log/3", b"former")
        original = files.find_original_of_first_key(versioned_bucket, "log/")
        assert original is not None
        assert (original.key, original.is_only_version) == ("log/2", True)
        time.sleep(0.002)  # The emulator sorts versions by their time in milliseconds.
        for number in range(later_versions):
            files.write_file(versioned_bucket, "log/2", b"forged")
            if number % 2:
                aws.client("s3").delete_object(Bucket=versioned_bucket, Key="log/2")
        found = files.find_original_of_first_key(versioned_bucket, "log/")
        assert found == original._replace(is_only_version=False)
        assert b"".join(files.iter_file_chunks(versioned_bucket, *found[:2])) == b"genuine"

    def test_is_found_behind_a_delete_marker(self, versioned_bucket):
        files.write_file(versioned_bucket, "log/2", b"genuine")
        original = files.find_original_of_first_key(versioned_bucket, "log/")
        aws.client("s3").delete_object(Bucket=versioned_bucket, Key="log/2")
        assert original is not None
        assert files.find_original_of_first_key(versioned_bucket, "log/") == original._replace(is_only_version=False)

    def test_does_not_exist_where_there_is_only_a_delete_marker(self, versioned_bucket):
        written = aws.client("s3").put_object(Bucket=versioned_bucket, Key="log/1")["VersionId"]
        for version in ({}, {"VersionId": written}):
            aws.client("s3").delete_object(Bucket=versioned_bucket, Key="log/1", **version)
        files.write_file(versioned_bucket, "log/2", b"genuine")
        found = files.find_original_of_first_key(versioned_bucket, "log/")
        assert found == ("log/1", "", False)
        with pytest.raises(files.FileNotFound):
            b"".join(files.iter_file_chunks(versioned_bucket, found.key, "no-such-version"))

    def test_takes_one_call_unless_there_are_others(self, versioned_bucket):
        for key in ("log/1", "log/2", "log/3"):
            files.write_file(versioned_bucket, key, b"")
        with record_calls() as calls:
            files.find_original_of_first_key(versioned_bucket, "log/")
        assert calls.call_names == ["s3:ListObjectVersions"]


def test_a_presigned_url_expires_and_needs_no_call(bucket):
    with inject_fault(Fault.INTERNAL_ERROR, times=None) as injected:
        url = files.presign_url(bucket, "a/file", file_name="report.gz", valid_seconds=60)
    assert injected.failed_call is None
    assert all(part in url for part in ("/a/file?", "X-Amz-Expires=60&", "filename%3D%22report.gz%22"))


@pytest.mark.parametrize(
    ("region", "host"), [("us-east-1", "s3.amazonaws.com"), ("eu-south-1", "s3.eu-south-1.amazonaws.com")]
)
def test_a_presigned_url_has_the_host_of_its_region(bucket, region, host, monkeypatch):
    monkeypatch.setenv("AWS_REGION", region)
    aws.reset_clients()
    url = files.presign_url(bucket, "a/1", file_name="a", valid_seconds=900)
    aws.reset_clients()
    assert url.startswith(f"https://{bucket}.{host}/a/1?")


def test_files_and_uploads_below_a_prefix_are_found_and_deleted(bucket):
    files.delete_files_and_uploads_with_prefix(bucket, "nothing")
    for name in ("b/4", "a/b/2", "ab/3", "a/1"):
        files.write_file(bucket, name, b"")
        files.start_upload(bucket, name, "text/plain")
    found = [files.find_original_of_first_key(bucket, prefix) for prefix in ("", "b/", "c")]
    assert [file and file.key for file in found] == ["a/1", "b/4", None]
    files.start_upload(bucket, "a/1", "text/plain")
    files.delete_files_and_uploads_with_prefix(bucket, "a/")
    listed = aws.client("s3").list_objects_v2(Bucket=bucket)["Contents"]
    assert [file["Key"] for file in listed] == sorted(unfinished_uploads()) == ["ab/3", "b/4"]


@pytest.mark.parametrize("fault", [Fault.THROTTLED, Fault.INTERNAL_ERROR, Fault.TIMED_OUT, Fault.RESPONSE_LOST])
@pytest.mark.parametrize(
    "operation",
    [
        lambda bucket: files.start_upload(bucket, "file", "text/plain"),
        lambda bucket: files.write_file(bucket, "file", b""),
        lambda bucket: files.write_file_once(bucket, "file", b""),
        lambda bucket: read_content(bucket, "there"),
        lambda bucket: files.find_original_of_first_key(bucket, ""),
        lambda bucket: files.delete_files_and_uploads_with_prefix(bucket, ""),
    ],
    ids=["start_upload", "write", "write_once", "read", "find_first", "delete_prefix"],
)
def test_a_failing_file_store_is_unavailable(bucket, operation, fault):
    files.write_file(bucket, "there", b"there")
    with inject_fault(fault, times=None), pytest.raises(Problem) as problem:
        operation(bucket)
    assert problem.value.code == "unavailable"
    assert "file store" in problem.value.detail
