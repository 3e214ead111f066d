"""The deprecation of an operation, which its responses announce (RFC 9745, RFC 8594)."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from email.utils import format_datetime
from typing import Final

MIN_DEPRECATION_DAYS: Final = 180
"""Minimum number of days between the deprecation and the removal of an operation."""


@dataclass(frozen=True)
class Deprecation:
    """When an operation is deprecated, and when it is removed. `advice` says what to use instead.

    Raises ValueError if callers would have less time than the policy promises.
    """

    deprecated_on: date
    removed_on: date
    advice: str

    def __post_init__(self) -> None:
        if (self.removed_on - self.deprecated_on).days < MIN_DEPRECATION_DAYS:
            raise ValueError(f"an operation is removed {MIN_DEPRECATION_DAYS} days after its deprecation or later")

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers `Deprecation` (RFC 9745) and `Sunset` (RFC 8594)."""
        return {
            "Deprecation": f"@{_start_of_day(self.deprecated_on).timestamp():.0f}",
            "Sunset": format_datetime(_start_of_day(self.removed_on), usegmt=True),
        }

    @property
    def description(self) -> str:
        """The paragraph of the operation's documentation."""
        return f"**Deprecated** since {self.deprecated_on}, and removed on {self.removed_on}. {self.advice}"


def _start_of_day(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)
