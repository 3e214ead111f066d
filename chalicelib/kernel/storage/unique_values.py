"""Values that one record only may have, as entities declare them; `guards.py` writes what stands for them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

FORMER_NAME_DAYS: Final = 90
MAX_FORMER_NAMES: Final = 5


FormerName = dict[str, str]
"""The `name` that a record had, and `until` when nobody else can have it."""


@dataclass(frozen=True)
class Unique:
    """A value that one record only may have.

    `taken` is the problem of whoever wants it too, and `advice` what they can do; without one the work is done again.
    `lapses`: the field with the moment from which on the value is free by itself. `holds`: whether a record needs it.
    `refers`: the field by which the value leads to the record; `tells`: what else of the record stands with the value.

    `former`: the field that lists the record's former values, `FormerName`s, which lead to it and are nobody else's for
    90 days: the last 5 of them, whatever becomes of the record. `served`: whether a record that goes leaves its present
    value to them, because somebody may still come to it.
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
