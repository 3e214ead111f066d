"""Reference data in the table: all of them, as the migration loads them, or a few of each set."""

from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from chalicelib.features.admin.migrations.logic.runner import apply_pending
from chalicelib.features.reference.entities import ReferenceData, ReferencePart
from chalicelib.features.reference.logic import cache as memory
from chalicelib.features.reference.models.dataset_file import (
    LATEST_VERSION,
    Dataset,
    compress_columns,
    dataset_path,
    decompress_columns,
    read_dataset,
    search_names_set,
)
from tests.harness import cloud

SETS: Final = ("countries", "currencies", "languages", "timezones", "cities")
_FEW: Final = 20


@cache
def file() -> Dataset:
    """Return what is deployed."""
    return read_dataset(dataset_path(LATEST_VERSION))


@cache
def columns(name: str) -> Mapping[str, list[str]]:
    """Return a set as it is deployed."""
    return decompress_columns(file().sets[name])


def rows(name: str) -> list[dict[str, str]]:
    """Return the records of a set as they are deployed."""
    return [dict(zip(columns(name), row, strict=True)) for row in zip(*columns(name).values(), strict=True)]


@cache
def few() -> list[dict[str, Any]]:
    """Return the items of a version that has the first records of each set only."""
    sets: dict[str, bytes] = {}
    for name in SETS:
        sets[name] = compress_columns({column: values[:_FEW] for column, values in columns(name).items()})
        known = {"aa": " ".join(map(str, range(_FEW)))}
        sets[search_names_set(name)] = compress_columns({"key": [*known], "records": [*known.values()]})
    packed = Dataset(file().heading, sets)
    parts = [ReferencePart.create(LATEST_VERSION, *part) for part in packed.parts()]
    return [record.item() for record in (*parts, ReferenceData.from_dataset(packed))]


def load_few() -> None:
    """Let the table hold a few records of each set."""
    for item in few():
        cloud.put(item)


_all: Final[list[memory.DatasetCache]] = []


def know_all() -> None:
    """Let the process know all reference data. Tests load and read them but once, and none of them changes anything."""
    if not _all:
        assert [outcome.state for outcome in apply_pending()] == ["applied"]
        _all.append(memory.current_dataset())
        for name in SETS:
            memory.current_dataset().get_set(name)
    memory._cached[:] = _all  # noqa: SLF001 - what a process knows is what it has read
