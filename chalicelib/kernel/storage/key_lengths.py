"""How long the keys of items may be. DynamoDB refuses longer ones: nothing stands at them, and nothing is put there.

Input is bounded long before by the patterns of path parameters and the fields of models; this is the last line of
defence, so that what slipped through is not found, or refused as a fault of the request, and never an error of ours.
"""

from collections.abc import Mapping
from typing import Any, Final

from chalicelib.kernel.core.problems import FieldError, ValidationProblem

MAX_PARTITION_KEY_BYTES: Final = 2048
MAX_SORT_KEY_BYTES: Final = 1024

_INDEXES: Final = ("", "index1", "index2", "facet1", "facet2", "facet3", "due")
_LIMITS: Final = {
    **{f"{index}pk": MAX_PARTITION_KEY_BYTES for index in _INDEXES},
    **{f"{index}sk": MAX_SORT_KEY_BYTES for index in _INDEXES},
}


def key_fits(partition_key: str, sort_key: str | None = None) -> bool:
    """Return whether an item, or with `sort_key` None a partition, can have a key: not empty, nor too long in UTF-8."""
    of_sort_key = sort_key is None or _is_within_limit(sort_key, MAX_SORT_KEY_BYTES)
    return of_sort_key and _is_within_limit(partition_key, MAX_PARTITION_KEY_BYTES)


def check_key_lengths(attributes: Mapping[str, Any]) -> None:
    """Refuse attributes of which one is a key of the table or an index that no item can have.

    Raises Problem `validation_failed`.
    """
    for name, limit in _LIMITS.items():
        if name in attributes and not _is_within_limit(attributes[name], limit):
            detail = f"A value is too long to be stored by: {limit} bytes in UTF-8, with what stands around it."
            raise ValidationProblem([FieldError("", "too_long", f"{detail} Send a shorter one.")])


def _is_within_limit(key: str, limit: int) -> bool:
    try:
        return 0 < len(key) <= limit and len(key.encode()) <= limit
    except UnicodeEncodeError:
        return False  # Half of a surrogate pair is no text: it can't be sent.
