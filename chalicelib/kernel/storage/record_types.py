"""Record types by kind.

A process imports a feature when a request first needs it, so a read can return a record whose class is not imported
yet. For example, no module of the webhooks imports the members, but a caller's membership decides whether they can
change a webhook. These functions import the class, so that no request depends on earlier imports.
"""

from collections.abc import Mapping
from importlib import import_module
from typing import Any, Final, TypeVar

from chalicelib.kernel.storage.entity import KINDS, Container, Entity, Item

E = TypeVar("E", bound=Entity)

_targets: Final[dict[str, str]] = {}


class UnknownRecordType(LookupError):
    """There is no record type of this kind."""


class RecordTypesNotRegistered(RuntimeError):
    """The process has registered no record types, so it would overlook those that it has not imported."""


def register_import_targets(targets_by_kind: Mapping[str, str]) -> None:
    """Register the record types: `module:Class` by kind."""
    _targets.update(targets_by_kind)


def _registered_targets() -> Mapping[str, str]:
    if not _targets:
        raise RecordTypesNotRegistered("Call register_import_targets before looking for record types.")
    return _targets


def find_record_type(kind_name: str) -> type[Entity] | None:
    """Return the record type of a kind, or None. Raises RecordTypesNotRegistered."""
    if kind_name not in KINDS and kind_name in (targets := _registered_targets()):
        module, _, class_name = targets[kind_name].partition(":")
        KINDS[kind_name] = getattr(import_module(module), class_name)
    return KINDS.get(kind_name)


def get_record_type(kind_name: str) -> type[Entity]:
    """Return the record type of a kind. Raises UnknownRecordType."""
    if kind := find_record_type(kind_name):
        return kind
    raise UnknownRecordType(f"no kind of record is named {kind_name!r}; if it is new, run `make generate`")


def get_record_type_of_base(kind_name: str, base: type[E]) -> type[E]:
    """Return the record type of a kind, a subclass of `base`.

    A feature that must not import another one declares the base class itself and finds the subclass by kind. Raises
    UnknownRecordType, and TypeError if the type is not a subclass of `base`.
    """
    subtype = get_record_type(kind_name)
    if not issubclass(subtype, base):
        raise TypeError(f"{kind_name!r} is not a kind of {base.__name__}")
    return subtype


def all_record_types() -> list[type[Entity]]:
    """Return all record types. Raises RecordTypesNotRegistered."""
    return [get_record_type(name) for name in sorted({*KINDS, *_registered_targets()})]


def child_container_types(container_type: type[Container]) -> list[type[Container]]:
    """Return the types of the containers in a container of this type."""
    return [kind for kind in all_record_types() if issubclass(kind, Container) and kind.parent_type is container_type]


def container_content_ranges(container_type: type[Container], container_id: str) -> list[dict[str, Any]]:
    """Return the partitions with everything in a container, as `pk` and, for a partition of an index, `index`.

    They are its own partitions, then the indexes of its child containers.
    """
    own = (container_type.pk, *container_type.extra_partitions)
    siblings = [child_type.sibling_index for child_type in child_container_types(container_type)]
    return [
        *({"pk": template.format(id=container_id)} for template in own),
        *(
            {"pk": each.pk.format_map({container_type.parameter: container_id}), "index": each.index}
            for each in siblings
        ),
    ]


def record_from_item(item: Item) -> Entity:
    """Return the record in an item, of its own type. Raises UnknownRecordType."""
    return get_record_type(item["kind"]).from_item(item)
