"""Maximum lengths of the keys of items. DynamoDB rejects longer keys.

The patterns of path parameters and the fields of models limit the input earlier. This is the last line of defence: a
value that they do not cover is not found, or is rejected as invalid, instead of causing an internal error.
"""

from collections.abc import Mapping
from typing import Any, Final

from chalicelib.kernel.core.problems import FieldError, ValidationProblem

MAX_PARTITION_KEY_BYTES: Final = 2048
"""Length of a partition key, a limit of DynamoDB."""

MAX_SORT_KEY_BYTES: Final = 1024
"""Length of a sort key, a limit of DynamoDB."""

_INDEXES: Final = ("", "index1", "index2", "facet1", "facet2", "facet3", "due")
_LIMITS: Final = {
    **{f"{index}pk": MAX_PARTITION_KEY_BYTES for index in _INDEXES},
    **{f"{index}sk": MAX_SORT_KEY_BYTES for index in _INDEXES},
}


def is_valid_key_length(partition_key: str, sort_key: str | None = None) -> bool:
    """Return whether a key is valid: not empty and not too long. Without `sort_key`, it is the key of a partition."""
    sort_key_fits = sort_key is None or _is_nonempty_within_byte_limit(sort_key, MAX_SORT_KEY_BYTES)
    return sort_key_fits and _is_nonempty_within_byte_limit(partition_key, MAX_PARTITION_KEY_BYTES)


def reject_too_long_keys(attributes: Mapping[str, Any]) -> None:
    """Raise Problem `validation_failed` if an attribute is a key of the table or an index and too long."""
    for name, limit in _LIMITS.items():
        if name in attributes and not _is_nonempty_within_byte_limit(attributes[name], limit):
            detail = f"A value is too long for a key, which has at most {limit} bytes in UTF-8 with its fixed parts."
            raise ValidationProblem([FieldError("", "too_long", f"{detail} Send a shorter one.")])


def _is_nonempty_within_byte_limit(key: str, limit: int) -> bool:
    try:
        return 0 < len(key) <= limit and len(key.encode()) <= limit
    except UnicodeEncodeError:
        return False  # A lone surrogate cannot be encoded.
