"""Ids of the logs: each organization has one, and records outside of organizations share some."""

from typing import Final
from zlib import crc32

SYSTEM_LOGS: Final = tuple(f"system-{number}" for number in range(16))
"""Ids of the logs of records outside any organization. There are several to reduce write contention."""

ANCHOR_LOG: Final = "anchors"
"""Id of the log of the anchored checkpoints of all other logs. It has no entries, only hashes."""


def system_log_id(record_id: str) -> str:
    """Return the id of the log of a record outside any organization. It depends on the id only."""
    return SYSTEM_LOGS[crc32(record_id.encode()) % len(SYSTEM_LOGS)]


def organization_id_from_log(log: str) -> str | None:
    """Return the id of the organization that owns a log, or None for a system log."""
    return None if log in SYSTEM_LOGS else log
