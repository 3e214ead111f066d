"""Base classes of stored records: their fields, keys, indexes and limits are declared in one place.

    class Space(Container):
        kind, parameter = "space", "space_id"
        pk, sk = "S#{id}", "#"
        in_platform = Collection("P#{platform_id}#S", "{id}", index="index1")
        by_slug = Unique("space-slug#{platform_id}", "{slug}", error_code="slug_taken")
        name: str
        slug: str

Keys are `str.format` templates over the record's fields. If a field of a template is None, the template yields no key
and the record is not in that index. The letter at the start of each key identifies the kind of partition. See
`docs/reference/table.md`.
"""

from collections.abc import Collection as SizedIterable
from collections.abc import Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, Final, Self, TypeVar, dataclass_transform
from zlib import crc32

from chalicelib.kernel.http.fields import UUID_PATTERN
from chalicelib.kernel.storage import json_documents, schema_versions
from chalicelib.kernel.storage.due_keys import make_due_key
from chalicelib.kernel.storage.key_templates import fields_of, render_or_none
from chalicelib.kernel.storage.log_ids import system_log_id
from chalicelib.kernel.storage.log_rules import ItemKey as ItemKey  # noqa: PLC0414 - other modules import it from here
from chalicelib.kernel.storage.log_rules import LogRules
from chalicelib.kernel.storage.pii import PersonIdentifiers
from chalicelib.kernel.storage.quotas import Quota
from chalicelib.kernel.storage.unique_values import Unique

Item = dict[str, Any]
T = TypeVar("T")

ItemReads = Generator[SizedIterable[ItemKey], Mapping[ItemKey, Item], T]
"""A computation that yields keys, gets the items that exist, and returns a result. `perform_reads` runs it."""

RECORD_FIELDS: Final = ("id", "created_at", "updated_at", "version")
"""Fields that every record has."""

KINDS: Final[dict[str, type["Entity"]]] = {}
"""Entity classes by kind, registered when their module is imported. `record_types` imports the others on demand."""


@dataclass(frozen=True)
class Partition:
    """A partition of the table or, with `index`, of that index."""

    pk: str
    index: str | None = None


@dataclass(frozen=True)
class Collection:
    """A list of records that one Query reads, from the table or, with `index`, from that index.

    `shards`: number of partitions over which a list with many writes is spread. Its key template contains `{shard}`,
    and reading it takes one Query for each shard, run in parallel.
    """

    pk: str
    sk: str
    index: str | None = None
    newest_first: bool = False
    shards: int = 0

    def partition(self, **names: Any) -> Partition:
        """Return the partition of the list with these field values."""
        return Partition(self.pk.format_map(names), self.index)

    def partition_key_or_none(self, field_values: Item) -> str | None:
        """Return the partition key under which an item is listed, or None if the item lacks a field of the template."""
        shard = {"shard": crc32(str(field_values["id"]).encode()) % self.shards} if self.shards else {}
        return render_or_none(self.pk, {**field_values, **shard})


@dataclass(frozen=True)
class Facet:
    """A filter of a list: an index partition, ordered by the table's sort key. Its records lack the field `without`."""

    pk: str
    index: str
    newest_first: bool = False
    without: str = ""

    def partition(self, **names: Any) -> Partition:
        """Return the partition of the records with these field values."""
        return Partition(self.pk.format_map(names), self.index)

    def partition_key_or_none(self, field_values: Item) -> str | None:
        """Return the partition key under which an item is found, or None if the facet does not contain the item."""
        return None if self.without in field_values else render_or_none(self.pk, field_values)


@dataclass(frozen=True)
class ScheduledTask:
    """A task that the scheduler starts for a record at a timestamp."""

    task: str
    at: str


@dataclass_transform(frozen_default=True, kw_only_default=True)
@dataclass(frozen=True, kw_only=True)
class Entity:
    """A stored record. Every subclass becomes a frozen dataclass."""

    kind: ClassVar[str]
    pk: ClassVar[str]
    sk: ClassVar[str]
    parameter: ClassVar[str] = ""
    """Path parameter that identifies a record. It holds the value of `id_field`, which matches `parameter_pattern`."""
    id_field: ClassVar[str] = "id"
    parameter_pattern: ClassVar[str] = UUID_PATTERN
    output_model: ClassVar[Any] = None
    """Response model of the record."""
    untracked_fields: ClassVar[frozenset[str]] = frozenset({"updatedAt", "version"})
    """Public fields whose changes are not listed in audit log entries."""
    quota: ClassVar[Quota | None] = None
    version_fields: ClassVar[tuple[str, ...]] = ("version",)
    """A write succeeds only if these fields are unchanged in the table since they were read."""
    child_partition: ClassVar[str] = ""
    """Key template of the partition with the record's child items, which are deleted with it; empty: none."""
    computed_fields: ClassVar[frozenset[str]] = frozenset()
    """Fields that are not stored: `hydration_reads` computes them from other records."""
    fields_omitted_from_lists: ClassVar[frozenset[str]] = frozenset()
    """Large fields that lists neither read nor show. They have a default."""
    json_fields: ClassVar[frozenset[str]] = frozenset()
    """Fields that are stored as JSON in a single attribute value (`kernel/storage/json_documents.py`)."""
    attribute_names: ClassVar[Mapping[str, str]] = {}
    """Stored attribute of each field whose attribute is named differently. Subclasses inherit the entries."""
    ends_access: ClassVar[bool] = False
    """Whether creating or changing such a record revokes the access of several principals."""
    gives_access: ClassVar[bool] = False
    """Whether creating such a record grants access, or sends data to somebody, beyond the current request."""
    log_rules: ClassVar[LogRules] = LogRules()
    """Which entries of the audit log explain the records."""
    mac_exemption: ClassVar[str] = ""
    """Why records have no MAC (`kernel/transactions/record_macs.py`); empty if they have one."""
    unauthenticated_fields: ClassVar[Mapping[str, str]] = {}
    """Fields that the MAC does not cover, with the reason. Subclasses inherit the entries."""
    schema_version: ClassVar[int] = 1
    """Version of the fields' schema, stored if above 1. `upcasters` migrate from each version to the next."""
    upcasters: ClassVar[schema_versions.Upcasters] = {}
    stored_item: ClassVar[Item | None] = None
    """The item that the record was read from, or was last written as; None for a new record."""

    id: str
    created_at: str
    updated_at: str
    version: int = 1
    record_mac: bytes | None = field(default=None, compare=False, repr=False)

    def __init_subclass__(cls, **options: Any) -> None:
        """Make the subclass a dataclass and collect its declarations."""
        super().__init_subclass__(**options)
        dataclass(frozen=True, kw_only=True)(cls)
        declared = {name: value for base in reversed(cls.__mro__) for name, value in vars(base).items()}
        cls.collections = {n: c for n, c in declared.items() if isinstance(c, Collection)}
        cls.facets = {n: f for n, f in declared.items() if isinstance(f, Facet)}
        cls.uniques = {n: u for n, u in declared.items() if isinstance(u, Unique)}
        cls.attribute_names = _merge_declarations(cls, "attribute_names")
        cls.unauthenticated_fields = _merge_declarations(cls, "unauthenticated_fields")
        cls.stored_fields = tuple(f.name for f in fields(cls) if f.name not in cls.computed_fields)
        schema_versions.require_complete_upcasters(cls.__name__, cls.schema_version, cls.upcasters)
        if "kind" in vars(cls):
            KINDS[cls.kind] = cls

    collections: ClassVar[Mapping[str, Collection]] = {}
    facets: ClassVar[Mapping[str, Facet]] = {}
    uniques: ClassVar[Mapping[str, Unique]] = {}
    stored_fields: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def stored_name(cls, field_name: str) -> str:
        """Return the stored attribute of a field."""
        return cls.attribute_names.get(field_name, field_name)

    @property
    def domain_fields(self) -> dict[str, Any]:
        """Stored fields of the record, without those that every record has."""
        return {name: getattr(self, name) for name in self.stored_fields if name not in (*RECORD_FIELDS, "record_mac")}

    @classmethod
    def authenticated_fields(cls) -> list[str]:
        """Return the stored fields that the record's MAC covers, without those that every record has."""
        exempt = {*cls.stored_fields} if cls.mac_exemption else {*cls.unauthenticated_fields}
        return [name for name in cls.stored_fields if name not in {*exempt, *RECORD_FIELDS, "record_mac"}]

    @classmethod
    def listed_attributes(cls) -> tuple[str, ...]:
        """Return the attributes that a list reads of each item. They suffice for `from_item`."""
        listed_fields = (name for name in cls.stored_fields if name not in cls.fields_omitted_from_lists)
        return (*map(cls.stored_name, listed_fields), "pk", "sk", "kind", "shape")

    @property
    def item_key(self) -> ItemKey:
        """Key of the record's item."""
        return self.pk.format_map(self.__dict__), self.sk.format_map(self.__dict__)

    @classmethod
    def make_item_key(cls, **names: str) -> ItemKey:
        """Return the item key of the record with these field values."""
        return cls.pk.format_map(names), cls.sk.format_map(names)

    @classmethod
    def has_key_fields(cls, names: Iterable[str]) -> bool:
        """Return whether these fields suffice to make an item key."""
        return {*fields_of(cls.pk), *fields_of(cls.sk)} <= {*names}

    @property
    def child_partition_key(self) -> str | None:
        """Key of the partition with the record's child items, or None."""
        return self.child_partition.format_map(self.__dict__) or None

    @property
    def noun(self) -> str:
        """Human-readable name of the record's kind: `organization.api_key` is an "api key"."""
        return self.kind.rpartition(".")[2].replace("_", " ")

    @property
    def audit_log_label(self) -> str:
        """Human-readable name of the record in the audit log."""
        return str(getattr(self, "name", None) or self.id)

    @property
    def audit_log_id(self) -> str:
        """Id of the audit log with the record's entries: its organization's id, or the id of a system log."""
        return str(getattr(self, "organization_id", None) or system_log_id(self.id))

    @property
    def scheduled_task(self) -> ScheduledTask | None:
        """Task that the scheduler has to start for the record, or None."""
        return None

    @property
    def derived_items(self) -> tuple[Item, ...]:
        """Items that are derived from the record. They are created, updated and deleted together with it."""
        return ()

    def redaction_changes_or_none_to_delete(self, person: PersonIdentifiers) -> Mapping[str, Any] | None:  # noqa: ARG002 - most records contain no personal data
        """Return the field changes that remove a person from the record, or None to delete the whole record."""
        return {}

    def item(self, omitted_fields: frozenset[str] = frozenset()) -> Item:
        """Return the record as it is stored, with its index keys and without fields that are None or omitted."""
        names = [name for name in self.stored_fields if name not in omitted_fields]
        values: Item = {name: value for name in names if (value := getattr(self, name)) is not None}
        json_fields = self.json_fields & values.keys()
        values |= {name: json_documents.to_json_or_compressed(values[name]) for name in json_fields}
        stored = {self.stored_name(name): value for name, value in values.items()}
        stored["pk"], stored["sk"] = self.item_key
        stored["kind"] = self.kind
        if self.schema_version > 1:
            stored["shape"] = self.schema_version
        for collection in self.collections.values():
            if (
                collection.index
                and (pk := collection.partition_key_or_none(values))
                and (sk := render_or_none(collection.sk, values))
            ):
                stored[f"{collection.index}pk"], stored[f"{collection.index}sk"] = pk, sk
        for facet in self.facets.values():
            if pk := facet.partition_key_or_none(values):
                stored[f"{facet.index}pk"] = pk
        if self.scheduled_task:
            stored |= schedule_attributes(self.scheduled_task, self.item_key)
        return stored

    @classmethod
    def from_item(cls, item: Item) -> Self:
        """Return the record of an item. An item of an older schema version is upcast.

        Raises Problem `unavailable` if the item's schema version is newer than this code.
        """
        current = schema_versions.upcast(item, cls.schema_version, cls.upcasters)
        attributes = [(name, cls.stored_name(name)) for name in cls.stored_fields]
        values = {name: current[attribute] for name, attribute in attributes if attribute in current}
        json_fields = cls.json_fields & values.keys()
        values |= {name: json_documents.from_json_or_compressed(values[name]) for name in json_fields}
        return schema_versions.attach_stored_item(cls(**values), item)

    @property
    def legacy_item(self) -> Item | None:
        """The item that the record was read from, if its schema version is older than `schema_version`."""
        item = self.stored_item
        return item if item is not None and item.get("shape", 1) != self.schema_version else None

    @property
    def owned_item_attribute_values(self) -> Item:
        """Attributes of the item that belong to the record: all of them unless the item has an older schema version.

        A change of the record replaces them. Other attributes of an older item were added by other code, and stay.
        """
        legacy, current = self.legacy_item, self.item()
        if legacy is None:
            return current
        upcast = schema_versions.upcast(legacy, self.schema_version, self.upcasters)
        is_index = schema_versions.is_index_attribute
        return {name: legacy[name] for name in legacy if name not in upcast or name in current or is_index(name)}

    @classmethod
    def key_of_alias(cls, key: ItemKey, items: Mapping[ItemKey, Item]) -> ItemKey:  # noqa: ARG003 - most have no alias
        """Return the key of the record to which a request's key refers. `items`: those that were read with the key.

        A class whose records have alternative names finds the record's own key among the items.
        """
        return key

    def replace(self, **changed: Any) -> Self:
        """Return a copy of the record with some fields changed."""
        return schema_versions.attach_stored_item(replace(self, **changed), self.stored_item)

    @classmethod
    def companion_keys(cls, parameters: Mapping[str, str]) -> Iterable[ItemKey]:  # noqa: ARG003 - most need none
        """Return the keys of items to read with a record of a path that has these parameters."""
        return ()

    def hydration_reads(self, items: Mapping[ItemKey, Item]) -> ItemReads[Self | None]:  # noqa: ARG002 - most need none
        """Request what the computed fields need besides `items`, which were read before.

        Return the record with these fields, or None if it counts as missing.
        """
        yield from ()
        return self


def _merge_declarations(cls: type, name: str) -> dict[str, str]:
    """Return the entries of a mapping that a class and its base classes declare."""
    return {key: value for base in reversed(cls.__mro__) for key, value in vars(base).get(name, {}).items()}


class Container(Entity):
    """A record that contains others and may have members: an organization, a platform, a space or a site.

    A nested container stores the ids of all its ancestors, in fields named like their path parameters, from its first
    version on.
    """

    parent_type: ClassVar["type[Container] | None"] = None
    """Type of the parent container, or None at the top."""
    has_members: ClassVar[bool] = True
    """Whether the container has members of its own."""
    scope_area: ClassVar[str] = ""
    """Prefix of the scopes that let an API key see private containers of this type."""
    sibling_index: ClassVar[Collection]
    """All containers of this type in one parent container."""
    extra_partitions: ClassVar[tuple[str, ...]] = ()
    """Partition keys of contents outside the container's own partition. Each begins with the container's key."""

    @property
    def is_deleted(self) -> bool:
        """Whether requests for the container and its contents fail with *not found*."""
        return False

    @property
    def is_published(self) -> bool:
        """Whether everybody may see the container's public contents."""
        return False

    @property
    def is_private(self) -> bool:
        """Whether only the container's own members and the admins of its parent container may see it."""
        return False

    @property
    def visibility_deciding_values(self) -> tuple[object, ...]:
        """Fields that decide who may access the container. When they change, requests in flight check access again."""
        return self.is_deleted, self.is_published, self.is_private

    @property
    def ancestor_keys_by_type(self) -> dict[type["Container"], ItemKey]:
        """Item keys of the ancestors by type, nearest first."""
        types = self.ancestor_types_nearest_first()
        return {kind: kind.make_item_key(id=getattr(self, kind.parameter)) for kind in types}

    @property
    def ids_by_parameter(self) -> dict[str, Any]:
        """Ids that the container's contents store: its own and those of its ancestors, by path parameter."""
        types = self.ancestor_types_nearest_first()
        return {self.parameter: self.id, **{kind.parameter: getattr(self, kind.parameter) for kind in types}}

    @classmethod
    def ancestor_types_nearest_first(cls) -> Iterator[type["Container"]]:
        """Yield the types of the ancestors, nearest first."""
        container = cls.parent_type
        while container:
            yield container
            container = container.parent_type


SCHEDULE_SHARDS: Final = 4
"""Partitions of the index of due items."""


def schedule_attributes(scheduled_task: ScheduledTask, key: ItemKey) -> Item:
    """Return the attributes that put an item into the `due` index, which is spread over a few partitions."""
    shard = sum(key[0].encode()) % SCHEDULE_SHARDS
    return {"duepk": f"DUE#{shard}", "duesk": make_due_key(scheduled_task.at, key), "task": scheduled_task.task}
