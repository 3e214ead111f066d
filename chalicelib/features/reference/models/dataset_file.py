"""The file format of a version of the reference data, and its division into parts for the table.

The file consists of a heading, which is one line of JSON, and compressed sets. A set of records is the concatenation
of its columns. A column is text with one value per line.
"""

import hashlib
import json
import lzma
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

LATEST_VERSION: Final = "2026-11-22"
"""The newest version, named after the date of the data. The last migration that loads reference data loads it."""
DATA_DIRECTORY: Final = Path(__file__).parents[1] / "data"
MAX_PART_BYTES: Final = 350_000
"""Maximum size of a part. An item of the table may have 400 KB."""

Columns = Mapping[str, Sequence[str]]


@dataclass(frozen=True)
class Dataset:
    """The compressed sets of one version, by name. `heading` holds the version, the sources, and hashes of the sets."""

    heading: Mapping[str, Any]
    sets: Mapping[str, bytes]

    def numbered_compressed_parts(self) -> list[tuple[str, int, bytes]]:
        """Return the parts for the table: name of the set, number of the part, content."""
        return [
            (name, number, content[start : start + MAX_PART_BYTES])
            for name, content in self.sets.items()
            for number, start in enumerate(range(0, len(content), MAX_PART_BYTES))
        ]


def dataset_path(version: str) -> Path:
    """Return the path of the file of a version."""
    return DATA_DIRECTORY / f"{version}.bin"


def search_names_set_name(set_name: str) -> str:
    """Return the name of the set that holds the search names of another set."""
    return f"{set_name}.names"


def read_dataset(path: Path) -> Dataset:
    """Return the dataset in a file."""
    heading_line, _, rest = path.read_bytes().partition(b"\n")
    heading, sets, start = json.loads(heading_line), {}, 0
    for name, description in heading["sets"].items():
        end = start + description["bytes"]
        sets[name] = rest[start:end]
        start = end
    return Dataset(heading, sets)


def write_dataset(path: Path, description: Mapping[str, Any], sets: Mapping[str, Columns]) -> Dataset:
    """Write a dataset to a file and return it. `description` holds the fields of the heading except `sets`."""
    contents = {name: compress_columns(columns) for name, columns in sets.items()}
    set_descriptions = {
        name: {
            "records": len(next(iter(columns.values()))),
            "bytes": len(contents[name]),
            "sha256": columns_sha256(columns),
        }
        for name, columns in sets.items()
    }
    dataset = Dataset({**description, "sets": set_descriptions}, contents)
    heading_line = json.dumps(dataset.heading, ensure_ascii=False, separators=(",", ":")).encode()
    path.write_bytes(heading_line + b"\n" + b"".join(contents.values()))
    return dataset


def columns_sha256(columns: Columns) -> str:
    """Return the SHA-256 of a set before compression, as hexadecimal text."""
    return hashlib.sha256(_columns_to_delimited_bytes(columns)).hexdigest()


def compress_columns(columns: Columns) -> bytes:
    """Return a set in its compressed form."""
    return lzma.compress(_columns_to_delimited_bytes(columns), preset=9 | lzma.PRESET_EXTREME)


def decompress_columns(content: bytes) -> dict[str, list[str]]:
    """Return the columns of a compressed set."""
    columns = (column.split("\n") for column in lzma.decompress(content).decode().split("\0"))
    return {name: values for name, *values in columns}


def _columns_to_delimited_bytes(columns: Columns) -> bytes:
    return "\0".join("\n".join([name, *values]) for name, values in columns.items()).encode()
