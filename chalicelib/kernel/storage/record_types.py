"""Kinds of records by their names.

A process imports a feature when a request first needs it. A read can therefore return a record whose class is not
imported yet: no module of the webhooks imports the members, and a caller's membership decides whether they may change a
webhook. The functions here import such a class, so that no request depends on what others have imported before.
"""

from collections.abc import Mapping
from importlib import import_module
from typing import Final, TypeVar

from chalicelib.kernel.storage.entity import KINDS, Container, Entity, Item

E = TypeVar("E", bound=Entity)

_targets: Final[dict[str, str]] = {}


class UnknownRecordType(LookupError):
    """No kind of record has the name."""


def register_types(targets: Mapping[str, str]) -> None:
    """Register where the kinds of records are defined: `module:Class` by the kind's name."""
    _targets.update(targets)


def find_record_type(name: str) -> type[Entity] | None:
    """Return the class of records of a kind, or None if no kind has the name."""
    if name not in KINDS and name in _targets:
        module, _, class_name = _targets[name].partition(":")
        KINDS[name] = getattr(import_module(module), class_name)
    return KINDS.get(name)


def record_type(name: str) -> type[Entity]:
    """Return the class of records of a kind. Raises UnknownRecordType."""
    if kind := find_record_type(name):
        return kind
    raise UnknownRecordType(f"no kind of record is named {name!r}; if it is new, run `make generate`")


def record_subtype(name: str, base: type[E]) -> type[E]:
    """Return the class of records of a kind, which is a subclass of `base`.

    A feature that must not import another one declares the base class itself and finds the subclass by the kind's name.
    Raises UnknownRecordType if no kind has the name, and TypeError if its class is not a subclass of `base`.
    """
    found = record_type(name)
    if not issubclass(found, base):
        raise TypeError(f"{name!r} is not a kind of {base.__name__}")
    return found


def all_record_types() -> list[type[Entity]]:
    """Return the classes of all kinds of records."""
    return [record_type(name) for name in sorted({*KINDS, *_targets})]


def child_types(place: type[Container]) -> list[type[Container]]:
    """Return the kinds of place that lie in a kind of place."""
    return [kind for kind in all_record_types() if issubclass(kind, Container) and kind.parent_type is place]


def record_from_item(item: Item) -> Entity:
    """Return the record that an item is, of whatever kind it says. Raises UnknownRecordType."""
    return record_type(item["kind"]).from_item(item)
