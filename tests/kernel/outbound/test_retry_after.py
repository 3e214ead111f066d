"""`Retry-After` headers are parsed as seconds or dates."""

import pytest

from chalicelib.kernel.outbound.retry_after import parse_retry_after_or_none


@pytest.mark.parametrize(
    ("values", "seconds"),
    [
        (["0", "Fri, 20 Nov 2026 09:29:00 GMT", "Fri, 20 Nov 2026 09:00:00 GMT"], 0),
        (["60", " 60 ", "Fri, 20 Nov 2026 09:31:00 GMT", "Fri, 20 Nov 2026 09:31:00 +0000"], 60),
        (["Fri, 20 Nov 2026 09:31:30 -0000", "Friday, 20-Nov-26 09:31:30 GMT", "Fri Nov 20 09:31:30 2026"], 90),
        (["86400"], 86_400),
        (["999999999"], 999_999_999),
        (["9999999999", "9" * 10_000, "-1", "1.5", "1, 2", "٣", "soon", "", None], None),
        (["Fri, 99 Nov 2026 09:31:00 GMT", "Fri, 20 Nov 99999 09:31:30 GMT"], None),
    ],
)
def test_seconds_and_dates_are_parsed(values, seconds, clock):
    clock.freeze("2026-11-20T09:30:00.000Z")
    for value in values:
        assert parse_retry_after_or_none(value) == seconds, value
