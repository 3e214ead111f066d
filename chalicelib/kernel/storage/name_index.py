"""Items that find records by their names, or list them in alphabetical order.

A class declares its indexes, and its records derive the items:

    class Platform(FoundByName, Container):
        name_indexes = (NameIndex("O#{organization_id}#NAMES#P", names=("name", "slug"), ordered_by=("name",)),)

Each index has a partition of its own. Its rows contain the key fields of their record, and their sort keys contain a
name without case, accents and superfluous spaces, so a Query with a prefix finds the names that begin with a text.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final
from zlib import crc32

from chalicelib.kernel.http.fields import fold_case_accents_and_spaces
from chalicelib.kernel.storage.entity import Entity, Item, Partition
from chalicelib.kernel.storage.key_templates import fields_of

MAX_ROWS_PER_INDEX: Final = 8
"""Rows of one record in one index. A row takes a write of the transaction that creates, renames or deletes the record.
The row that orders the list and the whole names come first. Of long names, the last words have no row."""

UNNAMED: Final = "\U0010fffd"
"""Stands for the name of a record without one. It sorts after all names."""

_MAX_CHARACTERS: Final = 200
END_OF_NAME: Final = "  "
"""Ends a name in a key. It sorts before all other texts, so "Ada" is listed before "Ada Lovelace". No folded name
contains two spaces in a row."""

_LIST_PREFIX: Final = "L#"
_WORD_PREFIX: Final = "W#"
_LATER_WORD: Final = re.compile(r"(?<=[ -])(?=[^ -])")
"""The beginning of a word that is not the first of a folded name. Words are separated by spaces and hyphens."""


@dataclass(frozen=True)
class NameIndex:
    """An index of records by name.

    - `partition`: key template of the partition. With `shards` it contains `{shard}`.
    - `names`: fields with the names that are searched.
    - `ordered_by`: fields for the alphabetical list. The first one with a value decides where the record is. If it is
      empty, the index has no list.
    - `lists_unnamed`: whether records without a value in these fields are at the end of the list, or not in it.
    - `shards`: number of partitions over which an index with many writes is spread.
    """

    partition: str
    names: tuple[str, ...]
    ordered_by: tuple[str, ...] = ()
    lists_unnamed: bool = True
    shards: int = 1

    def partitions(self, **names: Any) -> list[Partition]:
        """Return the partitions of the index with these field values."""
        return [Partition(self.partition.format_map({**names, "shard": shard})) for shard in range(self.shards)]

    def rows(self, record: Entity) -> tuple[Item, ...]:
        """Return the rows of a record: the one of the list, and those of its names and their later words."""
        key_fields = {*fields_of(record.pk), *fields_of(record.sk), *fields_of(self.partition)} - {"shard"}
        values = {name: getattr(record, name) for name in sorted(key_fields)}
        pk = self.partition.format_map({**values, "shard": crc32(record.id.encode()) % self.shards})
        record_id = getattr(record, record.id_field)
        rows = ({"pk": pk, "sk": prefix + record_id, **values} for prefix in self._key_prefixes(record))
        return tuple(row for row, _ in zip(rows, range(MAX_ROWS_PER_INDEX), strict=False))

    def _key_prefixes(self, record: Entity) -> Iterable[str]:
        names = [fold_case_accents_and_spaces(name) for field in self.names if (name := getattr(record, field))]
        unnamed = UNNAMED if self.ordered_by and self.lists_unnamed else None
        listed = next(filter(None, (getattr(record, field) for field in self.ordered_by)), unnamed)
        prefixes = [_LIST_PREFIX + fold_case_accents_and_spaces(listed)] if listed else []
        prefixes += [_WORD_PREFIX + text for text in (*names, *_later_words(names))]
        return dict.fromkeys(prefix[:_MAX_CHARACTERS] + END_OF_NAME for prefix in prefixes)


class FoundByName(Entity):
    """A record that is found by its names."""

    name_indexes: ClassVar[tuple[NameIndex, ...]]

    @property
    def name_rows(self) -> tuple[Item, ...]:
        """Return the rows of the record in all its indexes."""
        return tuple(row for index in self.name_indexes for row in index.rows(self))

    @property
    def derived_items(self) -> tuple[Item, ...]:
        """Also include the rows that find the record by its names."""
        return (*super().derived_items, *self.name_rows)


def key_prefix_of_search(text: str | None) -> str:
    """Return the prefix of the sort keys that a search for a text reads.

    Without a text, return that of the alphabetical list.
    """
    if text is None:
        return _LIST_PREFIX
    return (_WORD_PREFIX + fold_case_accents_and_spaces(text))[:_MAX_CHARACTERS]


def stands_for_record(row: Item, record: Entity, indexes: Iterable[NameIndex], key_prefix: str) -> bool:
    """Return whether a row is the first one of its record with a prefix in some indexes.

    Another row repeats the record, or is of a former name that a concurrent change has removed.
    """
    matching = [each for index in indexes for each in index.rows(record) if each["sk"].startswith(key_prefix)]
    return row == min(matching, key=lambda each: str(each["sk"]), default=None)


def key_values_of_row(row: Item) -> Mapping[str, Any]:
    """Return the fields of a row that make the key of its record."""
    return {name: value for name, value in row.items() if name not in ("pk", "sk")}


def _later_words(names: Iterable[str]) -> Iterator[str]:
    """Yield each folded name from its second word on, from its third word on, and so on."""
    return (name[match.start() :] for name in names for match in _LATER_WORD.finditer(name))
