"""`If-Match` applies to the record's id and version, whatever its representation."""

from types import SimpleNamespace
from typing import Any

import pytest

from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.execution.conditions import has_if_match_raising_on_mismatch, record_etag
from chalicelib.kernel.http.models import Output, RecordOutput

ID = "01939d3c-0000-7000-8000-0000000000ff"
RECORD: Any = SimpleNamespace(id=ID, version=7, noun="page", output_model=RecordOutput)
WITHOUT_VERSION: Any = SimpleNamespace(**{**vars(RECORD), "output_model": Output})
TAG = record_etag(RECORD.id, RECORD.version, b"{}")
OTHER_VERSION = record_etag(RECORD.id, 6, b"{}")


def has_if_match(header, record=RECORD):
    request: Any = SimpleNamespace(headers={} if header is None else {"if-match": header})
    return has_if_match_raising_on_mismatch(request, record)


@pytest.mark.parametrize(
    ("header", "expected"),
    [(None, False), ("*", True), (" * ", True), (TAG, True), (f"{OTHER_VERSION}, {TAG}", True)],
)
def test_a_request_has_a_condition_if_it_has_the_header(header, expected):
    assert has_if_match(header) is expected


@pytest.mark.parametrize(
    ("header", "record", "detail"),
    [
        (OTHER_VERSION, RECORD, "this page now has version 7"),
        (f"W/{TAG}", RECORD, "this page now has version 7"),
        (record_etag(RECORD.id[:-1] + "0", 7, b"{}"), RECORD, "this page now has version 7"),
        (OTHER_VERSION, WITHOUT_VERSION, "It has changed. Read it again"),
        ("*", None, "It does not exist. Omit If-Match to create it."),
        (TAG, None, "It does not exist. Omit If-Match to create it."),
    ],
)
def test_another_record_or_version_or_none_does_not_match(header, record, detail):
    with pytest.raises(Problem) as raised:
        has_if_match(header, record)
    assert (raised.value.code, raised.value.status) == ("precondition_failed", 412)
    assert detail in raised.value.errors[0].detail


def test_a_missing_record_needs_no_condition():
    assert has_if_match(None, None) is False
