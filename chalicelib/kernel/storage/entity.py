"""Entity: what is stored. Its fields, keys, indexes and limits stand in one literal, and nowhere else.

    class Space(Place):
        kind, parameter = "space", "space_id"
        pk, sk = "S#{id}", "#"
        in_platform = Collection("P#{platform_id}#S", "{id}", index="index1")
        by_slug = Unique("space-slug#{platform_id}", "{slug}", taken="slug_taken")
        name: str
        slug: str

Keys are templates over the record's fields; a template with a field that is None yields no key, so the record is
simply not in that index. The letter in front of each key says what the partition holds: `docs/reference/table.md`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Final, Self, dataclass_transform
from zlib import crc32

from chalicelib.kernel.core.settings import settings
from chalicelib.kernel.http.fields import UUID_PATTERN
from chalicelib.kernel.storage import json_documents, schema_versions
from chalicelib.kernel.storage.key_templates import fields_of, render
from chalicelib.kernel.storage.pii import PersonalData
from chalicelib.kernel.storage.unique_values import Unique

Item = dict[str, Any]
ItemKey = tuple[str, str]

RECORD_FIELDS: Final = ("id", "created_at", "updated_at", "version")
"""The fields that every record has."""

KINDS: Final[dict[str, type["Entity"]]] = {}
"""Every entity by its kind, once its module is imported. `kernel.kinds` finds those that are not, too."""

SYSTEM_LOGS: Final = tuple(f"system-{number}" for number in range(16))
"""The logs of what belongs to no organization: as many as let them not get into each other's way."""


@dataclass(frozen=True)
class Partition:
    """A partition of the table or, with `index`, of that."""

    pk: str
    index: str | None = None


@dataclass(frozen=True)
class Collection:
    """A list that is one Query: of the table itself or, with `index`, of an index that the record is put in.

    `shards`: over how many partitions it is spread that is written to more often than one can take; `{shard}` in its
    key tells them apart. It is a Query of each then, all at once.
    """

    pk: str
    sk: str
    index: str | None = None
    newest_first: bool = False
    shards: int = 0

    def partition(self, **names: Any) -> Partition:
        """Return the list of these fields."""
        return Partition(self.pk.format_map(names), self.index)

    def partitions(self, **names: Any) -> list[Partition]:
        """Return all partitions of the list of these fields, if it is spread over several."""
        return [self.partition(**names, shard=shard) for shard in range(self.shards)]

    def pk_of(self, stored: Item) -> str | None:
        """Return the partition that a stored record is listed in, or None if it lacks a field for that."""
        shard = {"shard": crc32(str(stored["id"]).encode()) % self.shards} if self.shards else {}
        return render(self.pk, {**stored, **shard})


@dataclass(frozen=True)
class Facet:
    """A filter of a list: an index in the order of the table's sort key."""

    pk: str
    index: str
    newest_first: bool = False

    def partition(self, **names: Any) -> Partition:
        """Return what passes by these fields."""
        return Partition(self.pk.format_map(names), self.index)


@dataclass(frozen=True)
class Quota:
    """How many records that count may exist within `per`. `advice`: what to do to have another.

    `most`: a number, or the name of the setting that says it.
    """

    name: str
    partition: str
    limit: int | str
    counts: Callable[[Any], bool]
    advice: str = "Remove one first."

    @property
    def maximum(self) -> int:
        """How many there may be."""
        return self.limit if isinstance(self.limit, int) else int(getattr(settings(), self.limit))

    def partition_of(self, record: "Entity") -> str:
        """Return the partition in which a record is counted: what `per` says, by the record's fields and properties."""
        return self.partition.format_map({name: getattr(record, name) for name in fields_of(self.partition)})


@dataclass(frozen=True)
class ScheduledTask:
    """What has to happen to a record later: a task's name, and when. The sweep finds it."""

    task: str
    at: str


@dataclass_transform(frozen_default=True, kw_only_default=True)
@dataclass(frozen=True, kw_only=True)
class Entity:
    """A stored record. Subclasses are frozen dataclasses without saying so."""

    kind: ClassVar[str]
    pk: ClassVar[str]
    sk: ClassVar[str]
    parameter: ClassVar[str] = ""
    """The path parameter that names a record; it holds the field `named_by`, which matches `parameter_pattern`."""
    id_field: ClassVar[str] = "id"
    parameter_pattern: ClassVar[str] = UUID_PATTERN
    output_model: ClassVar[Any] = None
    """The model callers see the record by."""
    untracked_fields: ClassVar[frozenset[str]] = frozenset({"updatedAt", "version"})
    """Public fields whose change is not listed in an entry."""
    quota: ClassVar[Quota | None] = None
    version_fields: ClassVar[tuple[str, ...]] = ("version",)
    """Fields that have to be in the table as they were read, or the record is not written."""
    child_partition: ClassVar[str] = ""
    """The partition of what belongs to the record alone and goes with it; none if it is empty."""
    computed_fields: ClassVar[frozenset[str]] = frozenset()
    """Fields that follow from other records: found out when the record is read, and never stored."""
    fields_omitted_from_lists: ClassVar[frozenset[str]] = frozenset()
    """Fields that no list shows: large ones, which are not read for lists. They have a default."""
    json_fields: ClassVar[frozenset[str]] = frozenset()
    """Fields that are stored as one value each, however much is in them (`kernel/storage/json_documents.py`)."""
    ends_access: ClassVar[bool] = False
    """Whether it says of several that their rights have ended, by being there."""
    gives_access: ClassVar[bool] = False
    """Whether it lets somebody in, or sends them something, for longer than the request that makes it."""
    schema_version: ClassVar[int] = 1
    """Which shape its fields have; an item says that above 1. `upcasts` lead to it, each from the one before."""
    upcasters: ClassVar[schema_versions.Upcasts] = {}
    legacy_item: ClassVar[Item | None] = None
    """The item it was read from, if that is of an older shape."""

    id: str
    created_at: str
    updated_at: str
    version: int = 1

    def __init_subclass__(cls, **words: Any) -> None:
        """Make a dataclass of the subclass and note what it declares."""
        super().__init_subclass__(**words)
        dataclass(frozen=True, kw_only=True)(cls)
        declared = {name: value for base in reversed(cls.__mro__) for name, value in vars(base).items()}
        cls.collections = {n: c for n, c in declared.items() if isinstance(c, Collection)}
        cls.facets = {n: f for n, f in declared.items() if isinstance(f, Facet)}
        cls.uniques = {n: u for n, u in declared.items() if isinstance(u, Unique)}
        cls._stored_fields = tuple(f.name for f in fields(cls) if f.name not in cls.computed_fields)
        schema_versions.check_upcasters(cls.__name__, cls.schema_version, cls.upcasters)
        if "kind" in vars(cls):
            KINDS[cls.kind] = cls

    collections: ClassVar[Mapping[str, Collection]] = {}
    facets: ClassVar[Mapping[str, Facet]] = {}
    uniques: ClassVar[Mapping[str, Unique]] = {}
    _stored_fields: ClassVar[tuple[str, ...]] = ()

    @property
    def domain_fields(self) -> dict[str, Any]:
        """What is said of the record: its fields, but those that every record has."""
        return {name: getattr(self, name) for name in self._stored_fields if name not in RECORD_FIELDS}

    @classmethod
    def listed_attributes(cls) -> tuple[str, ...]:
        """Return the attributes of an item that a list reads, if it is not to read all: enough for `from_item`."""
        return (
            *(name for name in cls._stored_fields if name not in cls.fields_omitted_from_lists),
            "pk",
            "sk",
            "kind",
            "shape",
        )

    @property
    def item_key(self) -> ItemKey:
        """Where the record is stored."""
        return self.pk.format_map(self.__dict__), self.sk.format_map(self.__dict__)

    @classmethod
    def make_item_key(cls, **names: str) -> ItemKey:
        """Return where the record of these fields is stored."""
        return cls.pk.format_map(names), cls.sk.format_map(names)

    @classmethod
    def is_valid_id(cls, names: Iterable[str]) -> bool:
        """Return whether these fields say where a record is stored."""
        return {*fields_of(cls.pk), *fields_of(cls.sk)} <= {*names}

    @property
    def child_partition_key(self) -> str | None:
        """The partition that it holds, if it does."""
        return self.child_partition.format_map(self.__dict__) or None

    @property
    def noun(self) -> str:
        """What people call records of its kind: `organization.api_key` is an api key."""
        return self.kind.rpartition(".")[2].replace("_", " ")

    @property
    def log_label(self) -> str:
        """What people call the record, for the log."""
        return str(getattr(self, "name", None) or self.id)

    @property
    def log(self) -> str:
        """The log that holds the record's entries: its organization's id, or a system log."""
        return str(getattr(self, "organization_id", None) or system_log(self.id))

    @property
    def scheduled_task(self) -> ScheduledTask | None:
        """What has to happen to the record later, if anything."""
        return None

    @property
    def derived_items(self) -> tuple[Item, ...]:
        """Items that only serve the record: they come, change and go with it."""
        return ()

    def redact(self, person: PersonalData) -> Mapping[str, Any] | None:  # noqa: ARG002 - most records name nobody
        """Return the fields to change so that the record says nothing of a person; None if none of it can stay."""
        return {}

    def item(self) -> Item:
        """Return the record as it is stored, index keys included and what is None left out."""
        stored: Item = {name: value for name in self._stored_fields if (value := getattr(self, name)) is not None}
        stored |= {name: json_documents.pack(stored[name]) for name in self.json_fields if name in stored}
        stored["pk"], stored["sk"] = self.item_key
        stored["kind"] = self.kind
        if self.schema_version > 1:
            stored["shape"] = self.schema_version
        for collection in self.collections.values():
            if collection.index and (pk := collection.pk_of(stored)) and (sk := render(collection.sk, stored)):
                stored[f"{collection.index}pk"], stored[f"{collection.index}sk"] = pk, sk
        for facet in self.facets.values():
            if pk := render(facet.pk, stored):
                stored[f"{facet.index}pk"] = pk
        if self.scheduled_task:
            stored |= schedule_attributes(self.scheduled_task, self.item_key)
        return stored

    @classmethod
    def from_item(cls, item: Item) -> Self:
        """Return the record that an item holds, be it of an older shape. Raises Problem if it is of a newer one."""
        if item.get("shape", 1) == cls.schema_version:
            return cls._from_stored(item)
        return schema_versions.attach_legacy_item(
            cls._from_stored(schema_versions.upcast(item, cls.schema_version, cls.upcasters)), item
        )

    @classmethod
    def _from_stored(cls, item: Item) -> Self:
        values = {name: item[name] for name in cls._stored_fields if name in item}
        return cls(
            **{**values, **{name: json_documents.unpack(values[name]) for name in cls.json_fields if name in values}}
        )

    @property
    def stored_attributes(self) -> Item:
        """What of its item the record accounts for: all of it, unless that is of an older shape."""
        if self.legacy_item is None:
            return self.item()
        return schema_versions.migrated_quota_fields(
            self.legacy_item, schema_versions.upcast(self.legacy_item, self.schema_version, self.upcasters), self.item()
        )

    @classmethod
    def pick_item(cls, key: ItemKey, read: dict[ItemKey, Item]) -> Item | None:
        """Return the item of the record that is named by a key, or None: that which stands there, of all that was read.

        A kind whose records are known by other names too finds them as well, and may read for that.
        """
        return read.get(key)

    def replace(self, **changed: Any) -> Self:
        """Return the record with some fields changed."""
        return schema_versions.attach_legacy_item(replace(self, **changed), self.legacy_item)

    def hydrate(self, read: dict[ItemKey, Item]) -> Self | None:  # noqa: ARG002 - most records say all of themselves
        """Return the record with what follows from others; None if by them it isn't there.

        `read` holds what was read with it; what it needs more is added to that, in as few round trips as there can be.
        """
        return self


class Container(Entity):
    """A record in which things are done, by its members or those of the places above it.

    A place that lies in another carries the ids of all above it, by their parameters, from its first version on.
    """

    parent_type: ClassVar["type[Container] | None"] = None
    """The kind of place that it lies in."""
    has_members: ClassVar[bool] = True
    """Whether it has members of its own."""
    scope_area: ClassVar[str] = ""
    """Whose scopes let an API key see private places of its kind."""
    sibling_index: ClassVar[Collection]
    """All places of its kind within one place, if it lies in one."""
    extra_partitions: ClassVar[tuple[str, ...]] = ()
    """Where what is in the place is stored, beside the partition of the place itself, which all of them begin with."""

    @property
    def is_deleted(self) -> bool:
        """Whether the place and all in it answers as if it were not there."""
        return False

    @property
    def is_published(self) -> bool:
        """Whether what is public of it is shown to everybody."""
        return False

    @property
    def is_private(self) -> bool:
        """Whether it is there for its own members only, and for the admins of the place above it."""
        return False

    @property
    def visibility_state(self) -> tuple[object, ...]:
        """Whatever of the place decides who may come in: when it changes, requests in flight have to look again."""
        return self.is_deleted, self.is_published, self.is_private

    @property
    def ancestor_keys(self) -> dict[type["Container"], ItemKey]:
        """Where the places are stored that it lies in, the nearest first."""
        return {place: place.make_item_key(id=getattr(self, place.parameter)) for place in self.ancestor_types()}

    @property
    def ancestor_ids(self) -> dict[str, Any]:
        """The ids that what is in the place carries: its own and those of the places above it, by their parameters."""
        return {
            self.parameter: self.id,
            **{kind.parameter: getattr(self, kind.parameter) for kind in self.ancestor_types()},
        }

    @classmethod
    def ancestor_types(cls) -> Iterator[type["Container"]]:
        """Yield the kinds of place above it, the nearest first."""
        place = cls.parent_type
        while place:
            yield place
            place = place.parent_type


def system_log(record_id: str) -> str:
    """Return the log of a record outside any organization: it follows from the id, so all its entries are in one."""
    return SYSTEM_LOGS[crc32(record_id.encode()) % len(SYSTEM_LOGS)]


def organization_id_from_log(log: str) -> str | None:
    """Return the id of the organization whose log it is, or None if it is a system log."""
    return None if log in SYSTEM_LOGS else log


SCHEDULE_SHARDS: Final = 4


def schedule_attributes(scheduled_task: ScheduledTask, key: ItemKey) -> Item:
    """Return the attributes that put an item into the index of what is due, spread over a few partitions."""
    shard = sum(key[0].encode()) % SCHEDULE_SHARDS
    return {"duepk": f"DUE#{shard}", "duesk": f"{scheduled_task.at}#{key[0]}#{key[1]}", "task": scheduled_task.task}
