"""Sort keys of the index of due items: `<time>#<pk>#<sk>`, and `#<due since>` while the task is claimed.

A claim moves the time, so that the task is not started again meanwhile. The key then states since when the task has
been due, so that claims do not hide how long it has waited. Every other change of the schedule writes a key without
this part, so it is removed when the task makes progress or is rescheduled.
"""

from collections.abc import Mapping
from typing import Any

from chalicelib.kernel.core.clock import timestamp_ms
from chalicelib.kernel.storage.key_lengths import is_valid_key_length


def make_due_key(time: str, key: tuple[str, str]) -> str:
    """Return the sort key of an item whose task the scheduler starts at a time."""
    return f"{time}#{key[0]}#{key[1]}"


def make_claimed_due_key(time: str, item: Mapping[str, Any]) -> str:
    """Return the sort key of an item whose task is claimed until a time.

    It states since when the task has been due, unless the item has no valid time, or the key would be too long. Only
    other writers store such items.
    """
    due_key = make_due_key(time, (item["pk"], item["sk"]))
    try:
        claimed_key = f"{due_key}#{claimed_due_since(item) or due_time(item)}"
    except (KeyError, ValueError):
        return due_key
    return claimed_key if is_valid_key_length(item["pk"], claimed_key) else due_key


def due_time(item: Mapping[str, Any]) -> str:
    """Return when the scheduler starts the task of an item. Raises ValueError if the time is invalid."""
    time = str(item["duesk"]).partition("#")[0]
    timestamp_ms(time)
    return time


def claimed_due_since(item: Mapping[str, Any]) -> str | None:
    """Return since when a claimed task has been due. It is None if the task is not claimed."""
    due_key = str(item["duesk"])
    prefix = f"{make_due_key(due_key.partition('#')[0], (item['pk'], item['sk']))}#"
    since = due_key.removeprefix(prefix)
    try:
        timestamp_ms(since)
    except ValueError:
        return None
    return since


def overdue_since(item: Mapping[str, Any], at: str) -> str | None:
    """Return since when a task has been due, None if it is not due at a time. Raises ValueError if it has no time."""
    time = due_time(item)
    return claimed_due_since(item) or (time if time <= at else None)
