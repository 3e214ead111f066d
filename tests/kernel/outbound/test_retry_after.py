"""`Retry-After` headers are parsed as seconds or dates."""

import pytest

from chalicelib.kernel.outbound.retry_after import parse_retry_after_or_none


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("0", 0),
        ("120", 120),
        (" 60 ", 60),
        ("999999999", 999_999_999),
        ("9999999999", None),
        ("-1", None),
        ("1.5", None),
        ("soon", None),
        ("", None),
        (None, None),
        ("Fri, 20 Nov 2026 09:31:00 GMT", 60),
        ("Fri, 20 Nov 2026 09:29:00 GMT", 0),
        ("Friday, 20-Nov-26 09:31:00 GMT", 60),
        ("Fri Nov 20 09:31:00 2026", 60),
        ("Fri, 99 Nov 2026 09:31:00 GMT", None),
    ],
)
def test_seconds_and_dates_are_parsed(value, seconds, clock):
    clock.freeze("2026-11-20T09:30:00.000Z")
    assert parse_retry_after_or_none(value) == seconds
