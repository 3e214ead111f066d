"""The file that reference data come in, and the parts in which the table holds it: a heading and compressed columns.

The heading is a line of JSON. A column is text, a value a line; a set of records is its columns, one behind the other.
"""

import hashlib
import json
import lzma
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

VERSION: Final = "2026-11-22"
"""The newest: the day that the data are of. The last migration that loads reference data loads this one."""
FOLDER: Final = Path(__file__).parent / "data"
MOST_BYTES: Final = 350_000
"""Of a part: an item of the table holds 400 KB."""

Columns = Mapping[str, Sequence[str]]


@dataclass(frozen=True)
class Packed:
    """All sets of one version. `heading`: its version, its sources, and the size and SHA-256 of each set."""

    heading: Mapping[str, Any]
    sets: Mapping[str, bytes]

    def parts(self) -> list[tuple[str, int, bytes]]:
        """Return what the table holds of it: the name of a set, the number of the part, its bytes."""
        return [
            (name, number, packed[begin : begin + MOST_BYTES])
            for name, packed in self.sets.items()
            for number, begin in enumerate(range(0, len(packed), MOST_BYTES))
        ]


def file_of(version: str) -> Path:
    """Return where the file of a version is."""
    return FOLDER / f"{version}.bin"


def names_of(name: str) -> str:
    """Return which set says by what names the records of another are searched."""
    return f"{name}.names"


def read(file: Path) -> Packed:
    """Return what a file holds."""
    heading, _, rest = file.read_bytes().partition(b"\n")
    said, sets, begin = json.loads(heading), {}, 0
    for name, about in said["sets"].items():
        sets[name] = rest[begin : begin + about["bytes"]]
        begin += about["bytes"]
    return Packed(said, sets)


def write(file: Path, about: Mapping[str, Any], sets: Mapping[str, Columns]) -> Packed:
    """Write a file, and return what it holds."""
    packed = {name: compress(columns) for name, columns in sets.items()}
    said = {
        name: {"records": len(next(iter(columns.values()))), "bytes": len(packed[name]), "sha256": digest(columns)}
        for name, columns in sets.items()
    }
    made = Packed({**about, "sets": said}, packed)
    heading = json.dumps(made.heading, ensure_ascii=False, separators=(",", ":")).encode()
    file.write_bytes(heading + b"\n" + b"".join(packed.values()))
    return made


def digest(columns: Columns) -> str:
    """Return the SHA-256 of a set, whatever compresses it."""
    return hashlib.sha256(_text(columns)).hexdigest()


def compress(columns: Columns) -> bytes:
    """Return a set as it is stored."""
    return lzma.compress(_text(columns), preset=9 | lzma.PRESET_EXTREME)


def decompress(packed: bytes) -> dict[str, list[str]]:
    """Return the columns of a set that is stored."""
    columns = (column.split("\n") for column in lzma.decompress(packed).decode().split("\0"))
    return {name: values for name, *values in columns}


def _text(columns: Columns) -> bytes:
    return "\0".join("\n".join([name, *values]) for name, values in columns.items()).encode()
