"""The cache of reference data in a process: each set is read once, and decompressed on first use."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

from chalicelib.features.reference.entities import ReferenceData, ReferencePart, version_day_start_timestamp
from chalicelib.features.reference.logic.name_search import index_range_of_prefix, search_key
from chalicelib.features.reference.models.dataset_file import (
    LATEST_VERSION,
    decompress_columns,
    search_names_set_name,
)
from chalicelib.kernel.core.case_folding import ascii_lower
from chalicelib.kernel.core.problems import unavailable
from chalicelib.kernel.storage import table

_REFRESH_AFTER_SECONDS: Final = 60
_SEPARATELY_READ_SET: Final = "cities"
"""A set of about a megabyte, read on demand only. The other sets are small and read together."""


@dataclass
class RecordColumns:
    """The records of a set, stored by column. A record has the same index in all columns.

    `search_names` is the compressed set of their search names.
    """

    columns: Mapping[str, Sequence[str]]
    search_names: bytes

    @cached_property
    def row_index_by_id(self) -> Mapping[str, int]:
        """The index of each record, by its id in lower case."""
        return {ascii_lower(record_id): index for index, record_id in enumerate(self.columns["id"])}

    @cached_property
    def _name_search_index(self) -> Mapping[str, Sequence[str]]:
        return decompress_columns(self.search_names)

    def row(self, index: int) -> dict[str, str]:
        """Return the values of a record by column name."""
        return {name: values[index] for name, values in self.columns.items()}

    def find_indexes_by_name_prefix(self, prefix: str) -> list[int]:
        """Return the indexes of the records with a name that starts with a prefix, in order."""
        keys, key_prefix = self._name_search_index["key"], search_key(prefix)
        name_indexes = index_range_of_prefix(keys, key_prefix) if key_prefix else range(0)
        record_indexes = (self._name_search_index["records"][name_index].split(" ") for name_index in name_indexes)
        return sorted({int(index) for indexes in record_indexes for index in indexes})

    @cached_property
    def indexes_by_country(self) -> Mapping[str, list[int]]:
        """The indexes of the records of each country, by country id, in order."""
        indexes: dict[str, list[int]] = {}
        for index, countries in enumerate(self.columns["countries"]):
            for country_id in countries.split():
                indexes.setdefault(country_id, []).append(index)
        return indexes


@dataclass
class DatasetCache:
    """The cached sets of one version. `compressed_sets` holds the content of the sets by name."""

    data: ReferenceData
    read_at: float
    compressed_sets: dict[str, bytes] = field(default_factory=dict)
    _sets: dict[str, RecordColumns] = field(default_factory=dict)

    @property
    def is_latest_or_recently_read(self) -> bool:
        """Whether the version is the one that this code expects, or was read recently."""
        return self.data.id == LATEST_VERSION or time.monotonic() - self.read_at < _REFRESH_AFTER_SECONDS

    @property
    def version_timestamp(self) -> str:
        """The timestamp of the records of the version."""
        return version_day_start_timestamp(self.data.id)

    def get_or_load_set(self, set_name: str) -> RecordColumns:
        """Return a set, read from the table if necessary. Raises Problem `unavailable` if a part is missing."""
        if set_name not in self._sets:
            if set_name not in self.compressed_sets:
                is_separate = set_name.startswith(_SEPARATELY_READ_SET)
                self._load_compressed_sets_into_cache(
                    [n for n in self.data.sets if n.startswith(_SEPARATELY_READ_SET) == is_separate]
                )
            self._sets[set_name] = RecordColumns(
                decompress_columns(self.compressed_sets[set_name]),
                self.compressed_sets[search_names_set_name(set_name)],
            )
        return self._sets[set_name]

    def _load_compressed_sets_into_cache(self, set_names: Sequence[str]) -> None:
        keys_by_set = {
            name: [ReferencePart.make_item_key(id=part) for part in self.data.part_ids(name)] for name in set_names
        }
        items = table.get_all([key for keys in keys_by_set.values() for key in keys])
        if len(items) < sum(map(len, keys_by_set.values())):
            raise _not_loaded_problem()
        contents = {key: ReferencePart.from_item(item).content for key, item in items.items()}
        for name, keys in keys_by_set.items():
            self.compressed_sets[name] = b"".join(contents[key] for key in keys)


_cached_datasets: Final[list[DatasetCache]] = []


def load_current_dataset_cache() -> DatasetCache:
    """Return the cache of the current version. Raises Problem `unavailable` if no version has been loaded."""
    if not _cached_datasets or not _cached_datasets[0].is_latest_or_recently_read:
        item = table.get(ReferenceData.make_item_key())
        if item is None:
            raise _not_loaded_problem()
        _cached_datasets[:] = [_refresh_or_create_cache(ReferenceData.from_item(item))]
    return _cached_datasets[0]


def reset_cache() -> None:
    """Clear the cache, so that the next use reads the data again."""
    _cached_datasets.clear()


def _refresh_or_create_cache(data: ReferenceData) -> DatasetCache:
    """Return the present cache if it has the version of the data, else a new one."""
    if _cached_datasets and _cached_datasets[0].data.id == data.id:
        _cached_datasets[0].read_at = time.monotonic()
        return _cached_datasets[0]
    return DatasetCache(data, time.monotonic())


def _not_loaded_problem() -> Any:
    return unavailable("The reference data are not loaded yet. Run the migrations of the service.", 60)
