from collections.abc import Callable
from typing import Any

import pytest

from chalicelib.kernel.core import aws
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.core.settings import settings
from chalicelib.kernel.storage import files
from tests.harness import exports
from tests.harness.exports import being_made
from tests.harness.faults import Fault, failing

pytestmark = pytest.mark.usefixtures("aws")


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> str:
    """A bucket in which parts may be small."""
    exports.let_parts_be_small(monkeypatch, 3)
    return settings().exports_bucket


def content(bucket: str, key: str) -> bytes:
    return b"".join(files.read_file(bucket, key))


def names(bucket: str) -> list[str]:
    return [found["Key"] for found in aws.client("s3").list_objects_v2(Bucket=bucket).get("Contents", [])]


class TestAFileInParts:
    def test_is_there_once_it_is_complete(self, bucket: str) -> None:
        upload = files.start_upload(bucket, "a/file", "application/gzip")
        files.upload_part(bucket, "a/file", upload, 1, b"one,")
        files.upload_part(bucket, "a/file", upload, 2, b"two")
        assert files.find_first_key(bucket, "a/") is None
        files.complete_upload(bucket, "a/file", upload, [1, 2])
        assert content(bucket, "a/file") == b"one,two"
        assert aws.client("s3").head_object(Bucket=bucket, Key="a/file")["ContentType"] == "application/gzip"

    def test_holds_the_parts_that_are_named_in_the_order_of_their_numbers(self, bucket: str) -> None:
        upload = files.start_upload(bucket, "file", "text/plain")
        for number, data in ((7, b"seven"), (2, b"two,"), (3, b"of nobody"), (5, b"five,")):
            files.upload_part(bucket, "file", upload, number, data)
        files.complete_upload(bucket, "file", upload, [2, 5, 7])
        assert content(bucket, "file") == b"two,five,seven"

    def test_may_have_more_parts_than_are_listed_at_once(self, bucket: str, monkeypatch: pytest.MonkeyPatch) -> None:
        client = aws.client("s3")
        list_parts = client.list_parts
        monkeypatch.setattr(client, "list_parts", lambda **words: list_parts(**words, MaxParts=2))
        upload = files.start_upload(bucket, "file", "text/plain")
        for number in range(1, 8):
            files.upload_part(bucket, "file", upload, number, b"%d.." % number)
        files.complete_upload(bucket, "file", upload, range(1, 8))
        assert content(bucket, "file") == b"1..2..3..4..5..6..7.."

    def test_is_not_made_without_a_part_of_it(self, bucket: str) -> None:
        upload = files.start_upload(bucket, "file", "text/plain")
        files.upload_part(bucket, "file", upload, 1, b"one")
        with pytest.raises(files.FileNotFound):
            files.complete_upload(bucket, "file", upload, [1, 2])
        assert files.find_first_key(bucket, "file") is None

    def test_is_complete_once(self, bucket: str) -> None:
        upload = files.start_upload(bucket, "file", "text/plain")
        files.upload_part(bucket, "file", upload, 1, b"one")
        files.complete_upload(bucket, "file", upload, [1])
        with pytest.raises(files.FileNotFound):
            files.complete_upload(bucket, "file", upload, [1])
        assert content(bucket, "file") == b"one"

    def test_tells_s3_its_parts_checksums_again_where_it_was_given_them(
        self, bucket: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        upload, told = files.start_upload(bucket, "file", "text/plain"), list[dict[str, Any]]()
        files.upload_part(bucket, "file", upload, 1, b"one")
        client = aws.client("s3")
        list_parts, complete = client.list_parts, client.complete_multipart_upload

        def with_checksums(**words: Any) -> dict[str, Any]:
            page: dict[str, Any] = list_parts(**words)
            return page | {"Parts": [part | {"ChecksumCRC32": "5wSQZA=="} for part in page["Parts"]]}

        def completing(**words: Any) -> Any:
            told.extend(words["MultipartUpload"]["Parts"])
            return complete(**words)

        monkeypatch.setattr(client, "list_parts", with_checksums)
        monkeypatch.setattr(client, "complete_multipart_upload", completing)
        files.complete_upload(bucket, "file", upload, [1])
        assert [part["ChecksumCRC32"] for part in told] == ["5wSQZA=="]


class TestASmallFile:
    def test_takes_the_place_of_the_one_before(self, bucket: str) -> None:
        for data in (b"first", b"second"):
            files.write_file(bucket, "file", data)
        assert content(bucket, "file") == b"second"

    def test_that_is_put_once_keeps_its_place(self, bucket: str) -> None:
        assert files.write_file_once(bucket, "file", b"first")
        assert not files.write_file_once(bucket, "file", b"second")
        assert content(bucket, "file") == b"first"


class TestFinding:
    def test_the_first_by_its_name_is_found(self, bucket: str) -> None:
        for name in ("b/2", "b/1", "a/3", "b"):
            files.write_file(bucket, name, b"")
        assert [files.find_first_key(bucket, prefix) for prefix in ("", "b/", "c")] == ["a/3", "b/1", None]

    def test_what_is_missing_is_no_file(self, bucket: str) -> None:
        with pytest.raises(files.FileNotFound):
            content(bucket, "nothing")

    def test_an_address_is_good_for_its_time_and_asks_for_nothing(self, bucket: str) -> None:
        with failing(Fault.BROKEN, times=None) as injected:
            url = files.presign_url(bucket, "a/file", name="report.gz", seconds=60)
        assert injected.hit is None
        assert "/a/file?" in url
        assert "X-Amz-Expires=60&" in url
        assert "filename%3D%22report.gz%22" in url

    @pytest.mark.parametrize(
        ("region", "host"),
        [("us-east-1", "s3.amazonaws.com"), ("eu-south-1", "s3.eu-south-1.amazonaws.com")],
    )
    def test_an_address_names_the_host_of_its_region(
        self, bucket: str, region: str, host: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("AWS_REGION", region)
        aws.reset_clients()
        address = files.presign_url(bucket, "a/1", name="a", seconds=900)
        aws.reset_clients()
        assert address.startswith(f"https://{bucket}.{host}/a/1?")


class TestClearing:
    def test_takes_all_below_a_name_and_nothing_else(self, bucket: str) -> None:
        for name in ("a/1", "a/b/2", "ab/3", "b/4"):
            files.write_file(bucket, name, b"")
            files.start_upload(bucket, name, "text/plain")
        files.start_upload(bucket, "a/1", "text/plain")
        files.delete_prefix(bucket, "a/")
        assert names(bucket) == ["ab/3", "b/4"]
        assert sorted(being_made()) == ["ab/3", "b/4"]

    def test_is_done_also_where_there_is_nothing(self, bucket: str) -> None:
        files.delete_prefix(bucket, "nothing")
        assert names(bucket) == []


class TestAFileStoreThatDoesNotAnswer:
    @pytest.mark.parametrize("fault", [Fault.THROTTLED, Fault.BROKEN, Fault.TIMED_OUT, Fault.UNANSWERED])
    @pytest.mark.parametrize(
        "ask",
        [
            lambda bucket: files.start_upload(bucket, "file", "text/plain"),
            lambda bucket: files.write_file(bucket, "file", b""),
            lambda bucket: files.write_file_once(bucket, "file", b""),
            lambda bucket: content(bucket, "there"),
            lambda bucket: files.find_first_key(bucket, ""),
            lambda bucket: files.delete_prefix(bucket, ""),
        ],
        ids=["begin", "put", "put_once", "read", "first", "clear"],
    )
    def test_is_unavailable(self, bucket: str, ask: Callable[[str], object], fault: Fault) -> None:
        files.write_file(bucket, "there", b"there")
        with failing(fault, times=None), pytest.raises(Problem) as problem:
            ask(bucket)
        assert problem.value.code == "unavailable"
        assert "file store" in problem.value.detail
