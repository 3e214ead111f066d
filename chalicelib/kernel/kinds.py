"""Kinds of records by their names.

A process imports a feature when a request first needs it. So the class of a record that a read returns may not be
imported yet: a webhook's feature knows nothing of members, and the record that lets its caller in is one. Kinds are
therefore found here, where a kind that is not imported is imported, and never in a list of what happens to be there.
"""

from collections.abc import Mapping
from importlib import import_module
from typing import Final

from chalicelib.kernel.entity import KINDS, Entity, Item, Place

_targets: Final[dict[str, str]] = {}


class UnknownKind(LookupError):
    """No kind of record has the name."""


def declare(targets: Mapping[str, str]) -> None:
    """Take where the kinds of records are defined: by their names, `module:Class`."""
    _targets.update(targets)


def find_kind(name: str) -> type[Entity] | None:
    """Return the kind of record of a name, or None if there is none. Its module is imported if need be."""
    if name not in KINDS and name in _targets:
        module, _, class_name = _targets[name].partition(":")
        KINDS[name] = getattr(import_module(module), class_name)
    return KINDS.get(name)


def kind_named(name: str) -> type[Entity]:
    """Return the kind of record of a name. Raises UnknownKind."""
    if kind := find_kind(name):
        return kind
    raise UnknownKind(f"no kind of record is named {name!r}; if it is new, run `make generate`")


def every_kind() -> list[type[Entity]]:
    """Return every kind of record, each with its module imported."""
    return [kind_named(name) for name in sorted({*KINDS, *_targets})]


def kinds_within(place: type[Place]) -> list[type[Place]]:
    """Return the kinds of place that lie in a kind of place."""
    return [kind for kind in every_kind() if issubclass(kind, Place) and kind.within is place]


def record_of(item: Item) -> Entity:
    """Return the record that an item is, of whatever kind it says. Raises UnknownKind."""
    return kind_named(item["kind"]).from_item(item)
