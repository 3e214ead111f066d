"""The cache of reference data in a process: each set is read once, and decompressed on first use."""

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

_REFRESH_AFTER_SECONDS: Final = 60
_SEPARATELY_READ_SET: Final = "cities"
"""A set of about a megabyte, read on demand only. The other sets are small and read together."""


@dataclass
class RecordSet:
    """The records of a set, stored by column. A record has the same index in all columns."""

    columns: Mapping[str, Sequence[str]]
    names: bytes

    @cached_property
    def places(self) -> Mapping[str, int]:
        """The index of each record by its id in lower case."""
        return {ascii_lower(record_id): index for index, record_id in enumerate(self.columns["id"])}

    @cached_property
    def _by_name(self) -> Mapping[str, Sequence[str]]:
        return decompress(self.names)

    def row(self, place: int) -> dict[str, str]:
        """Return the values of a record by column name."""
        return {name: values[place] for name, values in self.columns.items()}

    def called(self, prefix: str) -> list[int]:
        """Return the indexes of the records with a name that starts with a prefix, in order."""
        keys, key_prefix = self._by_name["key"], search_key(prefix)
        name_indexes = with_prefix(keys, key_prefix) if key_prefix else range(0)
        record_indexes = (self._by_name["records"][name_index].split(" ") for name_index in name_indexes)
        return sorted({int(index) for indexes in record_indexes for index in indexes})

    @cached_property
    def of_country(self) -> Mapping[str, list[int]]:
        """The indexes of the records of each country by country id, in order."""
        indexes: dict[str, list[int]] = {}
        for index, countries in enumerate(self.columns["countries"]):
            for country_id in countries.split():
                indexes.setdefault(country_id, []).append(index)
        return indexes


@dataclass
class Library:
    """The cached sets of one version. `compressed_sets` holds the content of the sets by name."""

    data: ReferenceData
    read_at: float
    packed: dict[str, bytes] = field(default_factory=dict)
    _sets: dict[str, RecordSet] = field(default_factory=dict)

    @property
    def holds(self) -> bool:
        """Whether the version is the one that this code expects, or was read recently."""
        return self.data.id == VERSION or time.monotonic() - self.read_at < _REFRESH_AFTER_SECONDS

    @property
    def moment(self) -> str:
        """The timestamp of the records of the version."""
        return made_at(self.data.id)

    def of(self, name: str) -> RecordSet:
        """Return a set, read from the table if necessary. Raises Problem `unavailable` if a part is missing."""
        if name not in self._sets:
            if name not in self.packed:
                is_separate = name.startswith(_SEPARATELY_READ_SET)
                self._read([n for n in self.data.sets if n.startswith(_SEPARATELY_READ_SET) == is_separate])
            self._sets[name] = RecordSet(decompress(self.packed[name]), self.packed[names_of(name)])
        return self._sets[name]

    def _read(self, names: Sequence[str]) -> None:
        keys_by_set = {
            name: [ReferencePart.make_item_key(id=part) for part in self.data.part_ids(name)] for name in names
        }
        items = table.get_all([key for keys in keys_by_set.values() for key in keys])
        if len(items) < sum(map(len, keys_by_set.values())):
            raise _not_loaded()
        contents = {key: ReferencePart.from_item(item).content for key, item in items.items()}
        for name, keys in keys_by_set.items():
            self.packed[name] = b"".join(contents[key] for key in keys)


_known: Final[list[Library]] = []


def library() -> Library:
    """Return the cache of the current version. Raises Problem `unavailable` if no version has been loaded."""
    if not _known or not _known[0].holds:
        item = table.get(ReferenceData.make_item_key())
        if item is None:
            raise _not_loaded()
        _known[:] = [_refreshed(ReferenceData.from_item(item))]
    return _known[0]


def forget() -> None:
    """Clear the cache."""
    _known.clear()


def _refreshed(data: ReferenceData) -> Library:
    """Return the present cache if it has the version of the data, else a new one."""
    if _known and _known[0].data.id == data.id:
        _known[0].read_at = time.monotonic()
        return _known[0]
    return Library(data, time.monotonic())


def _not_loaded() -> Any:
    return unavailable("The reference data are not loaded yet. Run the migrations of the service.", 60)
