"""Naming: what a request names, as far as its path and body say it: a place, those above it, records, people.

Whether any of it is there, and for the caller, is told by what is read then.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from chalicelib.kernel.authorization import ancestor_cache
from chalicelib.kernel.authorization.memberships import standing_keys
from chalicelib.kernel.core.case_folding import ascii_lower
from chalicelib.kernel.http import validation
from chalicelib.kernel.http.fields import UUID_PATTERN
from chalicelib.kernel.http.request import Request
from chalicelib.kernel.identity.auth import Anonymous, KeyHolder
from chalicelib.kernel.identity.jwt import User
from chalicelib.kernel.operations.operation import At, Operation
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Item, Key, Place
from chalicelib.kernel.transactions.unique_items import guard_key

NOWHERE: Final = "00000000-0000-0000-0000-000000000000"
"""The id of nothing: what is not there is looked for by this, so that it takes as long as what others have."""


@dataclass(frozen=True)
class Named:
    """Where it is stored what a request names: the place, those above it that are known, the path's records.

    `joined`: the place, if people can be members of it. `user_ids`: whose standing has to be known. `also`: what the
    operation asks to be read with it. `remembered`: whether this process knew in which places it lies, and so is spared
    the read that says so. `within`: whether the place is of a kind that lies in others.
    """

    place: Key | None
    joined: Key | None
    above: Mapping[type[Place], Key]
    records: Mapping[str, Key | None]
    user_ids: tuple[str, ...]
    also: tuple[Key, ...]
    remembered: bool = False
    within: bool = False

    @property
    def outermost(self) -> Key | None:
        """The place in which all the others lie; None if the process does not know it yet."""
        if self.within:
            return next((key for kind, key in self.above.items() if kind.within is None), None)
        return self.place

    def keys(self) -> Iterator[Key]:
        """Yield where all of it is stored, and what decides who may reach it."""
        yield from (key for key in (self.place, *self.records.values()) if key)
        yield from self.above.values()
        for user_id in self.user_ids:
            yield from standing_keys(user_id, self.joined, self.above.values())
        yield from self.also


def named(operation: Operation, request: Request, caller: User | KeyHolder | Anonymous) -> Named:
    """Return what a request names. It may take a read to know a place by its slug, or a record's places by its id."""
    needs = operation.needs
    place, joined, above, names, remembered = None, None, {}, {}, False
    if isinstance(needs, At):
        remembered = bool(
            needs.through and ancestor_cache.known(ancestor_cache.pointer_key(request.parameters[needs.parameter]))
        )
        names = _names(needs, request)
        place = needs.place.key_of(id=names[needs.place.parameter]) if names else None
        remembered = remembered or bool(ancestor_cache.known(place))
        joined = place if needs.place.joined else None
        above = _above(needs.place, {**ancestor_cache.known(place), **names})
    records = _record_keys(operation, {**request.parameters, **names})
    # What reads beside this sees the places as if the path had said them.
    also = _also(operation, replace(request, parameters={**request.parameters, **names}), caller)
    within = isinstance(needs, At) and needs.place.within is not None
    people = _user_ids(operation, request, caller)
    return Named(place, joined, above, records, people, tuple(also), remembered, within)


def other_id(operation: Operation, request: Request, records: list[Item]) -> str:
    """Return the id of the other user whose standing the operation asks for; an empty text if that is nobody.

    The path says it, or one of the path's records, by the operation's `whose`.
    """
    if not operation.whose:
        return ""
    if operation.whose in request.parameters:
        return request.parameters[operation.whose]
    return next((record[operation.whose] for record in records if operation.whose in record), "")


def _names(needs: At, request: Request) -> dict[str, str]:
    """Return what names the place and, where that is known, those above it, by parameters; nothing if nothing can."""
    if needs.in_body:
        said = request.said.get(needs.field)
        value = ascii_lower(said.strip()) if isinstance(said, str) else ""
        return {needs.place.parameter: value} if re.fullmatch(UUID_PATTERN, value) else {}
    name = request.parameters[needs.parameter]
    if needs.through:
        return ancestor_cache.of_record(name) or {
            kind.parameter: NOWHERE for kind in (needs.place, *needs.place.lies_in())
        }
    if not needs.by_slug:
        return {needs.place.parameter: name}
    guard = table.get(guard_key(needs.place.uniques["by_slug"], {"slug": name}))
    return {needs.place.parameter: NOWHERE if guard is None or table.expired(guard) else guard["ref"]}


def _above(place: type[Place], ids: Mapping[str, str]) -> dict[type[Place], Key]:
    return {kind: kind.key_of(id=ids[kind.parameter]) for kind in place.lies_in() if kind.parameter in ids}


def _record_keys(operation: Operation, names: Mapping[str, str]) -> dict[str, Key | None]:
    keys: dict[str, Key | None] = {}
    for name, entity in operation.records.items():
        needed = {**names, entity.named_by: names[entity.parameter]}
        keys[name] = entity.key_of(**needed) if entity.is_named_by(needed) else None
    return keys


def _also(operation: Operation, request: Request, caller: User | KeyHolder | Anonymous) -> Iterator[Key]:
    # A query with a fault is refused in the end, so that nothing has to be read for it.
    if operation.also and validation.is_valid_query(operation.query, request):
        yield from operation.also(request)
    if operation.of_caller and isinstance(caller, User):
        yield from operation.of_caller(request, caller)


def _user_ids(operation: Operation, request: Request, caller: User | KeyHolder | Anonymous) -> tuple[str, ...]:
    """Return the ids of the users whose standing has to be known: the caller's, and the other's that the path names."""
    other = other_id(operation, request, [])
    others = (other,) if re.fullmatch(UUID_PATTERN, other) else ()
    return (caller.id, *others) if isinstance(caller, User) else others
