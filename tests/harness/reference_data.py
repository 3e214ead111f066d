"""Reference data: the complete datasets, as the migration loads them, or the first records of each."""

from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from chalicelib.features.admin.migrations.logic.runner import apply_migrations_yielding_outcomes
from chalicelib.features.reference.entities import ReferenceData, ReferencePart
from chalicelib.features.reference.logic import cache as memory
from chalicelib.features.reference.models.dataset_file import (
    LATEST_VERSION,
    Dataset,
    compress_columns,
    dataset_path,
    decompress_columns,
    read_dataset,
    search_names_set_name,
)
from tests.harness import memory_aws

DATASET_NAMES: Final = ("countries", "currencies", "languages", "timezones", "cities")
_SMALL_DATASET_RECORDS: Final = 20


@cache
def deployed_dataset() -> Dataset:
    return read_dataset(dataset_path(LATEST_VERSION))


@cache
def deployed_columns(name: str) -> Mapping[str, list[str]]:
    return decompress_columns(deployed_dataset().sets[name])


def deployed_records(name: str) -> list[dict[str, str]]:
    return [
        dict(zip(deployed_columns(name), row, strict=True))
        for row in zip(*deployed_columns(name).values(), strict=True)
    ]


@cache
def small_dataset_items() -> list[dict[str, Any]]:
    """Return the items of a version with only the first records of each dataset."""
    sets: dict[str, bytes] = {}
    for name in DATASET_NAMES:
        sets[name] = compress_columns(
            {column: values[:_SMALL_DATASET_RECORDS] for column, values in deployed_columns(name).items()}
        )
        positions = {"aa": " ".join(map(str, range(_SMALL_DATASET_RECORDS)))}
        sets[search_names_set_name(name)] = compress_columns({"key": [*positions], "records": [*positions.values()]})
    small_dataset = Dataset(deployed_dataset().heading, sets)
    parts = [ReferencePart.create(LATEST_VERSION, *part) for part in small_dataset.numbered_compressed_parts()]
    return [record.item() for record in (*parts, ReferenceData.from_dataset(small_dataset))]


def load_small_dataset() -> None:
    """Load the first records of each dataset into the table."""
    for item in small_dataset_items():
        memory_aws.put_item(item)


_full_cache: Final[list[memory.DatasetCache]] = []


def load_full_dataset() -> None:
    """Load the complete reference data into the cache of the process, from the table only at the first call."""
    if not _full_cache:
        assert {outcome.state for outcome in apply_migrations_yielding_outcomes()} == {"applied"}
        _full_cache.append(memory.load_current_dataset_cache())
        for name in DATASET_NAMES:
            memory.load_current_dataset_cache().get_or_load_set(name)
    memory._cached_datasets[:] = _full_cache  # noqa: SLF001 - the cache has no setter
