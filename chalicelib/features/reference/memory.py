"""Reference data as a process remembers them: read once, decompressed when first asked for."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

from chalicelib.features.reference.entities import ReferenceData, ReferencePart, made_at
from chalicelib.features.reference.packed import VERSION, decompress, names_of
from chalicelib.features.reference.rules import search_key, with_prefix
from chalicelib.kernel.core.case_folding import ascii_lower
from chalicelib.kernel.core.problems import unavailable
from chalicelib.kernel.storage import table

_LOOK_AGAIN_SECONDS: Final = 60
_ALONE: Final = "cities"
"""A megabyte: only read by a process that is asked for them. The other sets are small, and read together."""


@dataclass
class RecordSet:
    """The records of a set as columns, by their places: each stands in all columns at the same one."""

    columns: Mapping[str, Sequence[str]]
    names: bytes

    @cached_property
    def places(self) -> Mapping[str, int]:
        """Where each record is, by its id, in whatever case."""
        return {ascii_lower(record_id): place for place, record_id in enumerate(self.columns["id"])}

    @cached_property
    def _by_name(self) -> Mapping[str, Sequence[str]]:
        return decompress(self.names)

    def row(self, place: int) -> dict[str, str]:
        """Return what the columns say of a record."""
        return {name: values[place] for name, values in self.columns.items()}

    def called(self, prefix: str) -> list[int]:
        """Return which records have a name that begins so, in order."""
        keys, key = self._by_name["key"], search_key(prefix)
        found = with_prefix(keys, key) if key else range(0)
        return sorted({int(place) for at in found for place in self._by_name["records"][at].split(" ")})

    @cached_property
    def of_country(self) -> Mapping[str, list[int]]:
        """Which records say that they are a country's, by its id, in order."""
        found: dict[str, list[int]] = {}
        for place, countries in enumerate(self.columns["countries"]):
            for country_id in countries.split():
                found.setdefault(country_id, []).append(place)
        return found


@dataclass
class Library:
    """All that a process knows of one version."""

    data: ReferenceData
    read_at: float
    packed: dict[str, bytes] = field(default_factory=dict)
    _sets: dict[str, RecordSet] = field(default_factory=dict)

    @property
    def holds(self) -> bool:
        """Whether it is what this code is for, or was looked at a moment ago: the next version may be there by now."""
        return self.data.id == VERSION or time.monotonic() - self.read_at < _LOOK_AGAIN_SECONDS

    @property
    def moment(self) -> str:
        """When its records were made."""
        return made_at(self.data.id)

    def of(self, name: str) -> RecordSet:
        """Return a set, read if it was not: one BatchGet. Raises Problem `unavailable` if part of it is not there."""
        if name not in self._sets:
            if name not in self.packed:
                self._read([each for each in self.data.sets if each.startswith(_ALONE) == name.startswith(_ALONE)])
            self._sets[name] = RecordSet(decompress(self.packed[name]), self.packed[names_of(name)])
        return self._sets[name]

    def _read(self, names: Sequence[str]) -> None:
        keys = {name: [ReferencePart.make_item_key(id=part) for part in self.data.part_ids(name)] for name in names}
        read = table.get_all([key for of_set in keys.values() for key in of_set])
        if len(read) < sum(map(len, keys.values())):
            raise _missing()
        contents = {key: ReferencePart.from_item(item).content for key, item in read.items()}
        for name, of_set in keys.items():
            self.packed[name] = b"".join(contents[key] for key in of_set)


_known: Final[list[Library]] = []


def library() -> Library:
    """Return what is known, after a read if nothing was. Raises Problem `unavailable` if nothing is there yet."""
    if not _known or not _known[0].holds:
        item = table.get(ReferenceData.make_item_key())
        if item is None:
            raise _missing()
        _known[:] = [_renewed(ReferenceData.from_item(item))]
    return _known[0]


def forget() -> None:
    """Forget all that was read."""
    _known.clear()


def _renewed(data: ReferenceData) -> Library:
    """Return the library of a version; that which is known, if it is of this version still."""
    if _known and _known[0].data.id == data.id:
        _known[0].read_at = time.monotonic()
        return _known[0]
    return Library(data, time.monotonic())


def _missing() -> Any:
    return unavailable("Reference data are not loaded yet: the migrations of the service have to be run.", 60)
