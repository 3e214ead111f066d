"""Declarations of unique values. `unique_items.py` writes the items that reserve them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

FORMER_NAME_DAYS: Final = 90
"""Days for which a former name stays reserved for its record."""

MAX_FORMER_NAMES: Final = 5
"""Former names of a record that stay reserved. The oldest is released first."""


FormerName = dict[str, str]
"""A former `name` of a record, reserved `until` a time."""


@dataclass(frozen=True)
class Unique:
    """A unique value of a record.

    - `namespace` and `key`: templates of the reserved value. `field`: the public field, for problems.
    - `error_code`: the problem if the value is taken, with `advice`, a template with fields of the record and the
      `existing_id` of the record that has the value. Without a code the request is retried. With `already_exists` the
      problem names the record that has the value, so everyone who may write such a record must be able to read it.
    - `expires_at_field`: field that holds the time after which the value may be reused. `applies_to`: whether a record
      needs the value.
    - `ref_field`: field stored in the reservation that identifies the record. `projected_fields`: further stored
      fields.
    - `former_values_field`: field with the record's former values (`FormerName`), which stay reserved for 90 days, the
      last 5 of them. `keeps_value_on_delete`: whether a deleted record's value becomes a former one.
    """

    namespace: str
    key: str
    error_code: str
    field: str
    former_values_field: str = ""
    expires_at_field: str = ""
    advice: str = "Choose another."
    applies_to: Callable[[Any], bool] = lambda _record: True
    keeps_value_on_delete: Callable[[Any], bool] = lambda _record: False
    ref_field: str = "id"
    projected_fields: tuple[str, ...] = ()
