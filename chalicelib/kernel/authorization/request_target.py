"""Naming: what a request names, as far as its path and body say it: a place, those above it, records, people.

Whether any of it is there, and for the caller, is told by what is read then.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from chalicelib.kernel.authorization import ancestor_cache
from chalicelib.kernel.authorization.memberships import membership_view_keys
from chalicelib.kernel.core.case_folding import ascii_lower
from chalicelib.kernel.http import validation
from chalicelib.kernel.http.fields import UUID_PATTERN
from chalicelib.kernel.http.request import Request
from chalicelib.kernel.identity.auth import Anonymous, UnverifiedApiKey
from chalicelib.kernel.identity.jwt import User
from chalicelib.kernel.operations.access_rules import RequireRole
from chalicelib.kernel.operations.operation import Operation
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Container, Item, ItemKey
from chalicelib.kernel.transactions.unique_items import guard_key

NIL_UUID: Final = "00000000-0000-0000-0000-000000000000"
"""The id of nothing: what is not there is looked for by this, so that it takes as long as what others have."""


@dataclass(frozen=True)
class RequestTarget:
    """Where it is stored what a request names: the place, those above it that are known, the path's records.

    `joined`: the place, if people can be members of it. `user_ids`: whose standing has to be known. `also`: what the
    operation asks to be read with it. `remembered`: whether this process knew in which places it lies, and so is spared
    the read that says so. `within`: whether the place is of a kind that lies in others.
    """

    container: ItemKey | None
    member_container: ItemKey | None
    ancestors: Mapping[type[Container], ItemKey]
    records: Mapping[str, ItemKey | None]
    user_ids: tuple[str, ...]
    prefetch: tuple[ItemKey, ...]
    ancestors_cached: bool = False
    is_nested: bool = False

    @property
    def outermost(self) -> ItemKey | None:
        """The place in which all the others lie; None if the process does not know it yet."""
        if self.is_nested:
            return next((key for kind, key in self.ancestors.items() if kind.parent_type is None), None)
        return self.container

    def keys(self) -> Iterator[ItemKey]:
        """Yield where all of it is stored, and what decides who may reach it."""
        yield from (key for key in (self.container, *self.records.values()) if key)
        yield from self.ancestors.values()
        for user_id in self.user_ids:
            yield from membership_view_keys(user_id, self.member_container, self.ancestors.values())
        yield from self.prefetch


def resolve_target(
    operation: Operation, request: Request, caller: User | UnverifiedApiKey | Anonymous
) -> RequestTarget:
    """Return what a request names. It may take a read to know a place by its slug, or a record's places by its id."""
    needs = operation.access
    place, joined, above, names, remembered = None, None, {}, {}, False
    if isinstance(needs, RequireRole):
        remembered = bool(
            needs.via_record
            and ancestor_cache.cached_ids(ancestor_cache.pointer_key(request.parameters[needs.parameter]))
        )
        names = _container_ids(needs, request)
        place = needs.container_type.make_item_key(id=names[needs.container_type.parameter]) if names else None
        remembered = remembered or bool(ancestor_cache.cached_ids(place))
        joined = place if needs.container_type.has_members else None
        above = _ancestor_keys(needs.container_type, {**ancestor_cache.cached_ids(place), **names})
    records = _record_keys(operation, {**request.parameters, **names})
    # What reads beside this sees the places as if the path had said them.
    also = _prefetch_keys(operation, replace(request, parameters={**request.parameters, **names}), caller)
    within = isinstance(needs, RequireRole) and needs.container_type.parent_type is not None
    people = _user_ids(operation, request, caller)
    return RequestTarget(place, joined, above, records, people, tuple(also), remembered, within)


def subject_user_id(operation: Operation, request: Request, records: list[Item]) -> str:
    """Return the id of the other user whose standing the operation asks for; an empty text if that is nobody.

    The path says it, or one of the path's records, by the operation's `whose`.
    """
    if not operation.subject_user_param:
        return ""
    if operation.subject_user_param in request.parameters:
        return request.parameters[operation.subject_user_param]
    return next(
        (record[operation.subject_user_param] for record in records if operation.subject_user_param in record), ""
    )


def _container_ids(needs: RequireRole, request: Request) -> dict[str, str]:
    """Return what names the place and, where that is known, those above it, by parameters; nothing if nothing can."""
    if needs.in_body:
        said = request.unvalidated_body.get(needs.field)
        value = ascii_lower(said.strip()) if isinstance(said, str) else ""
        return {needs.container_type.parameter: value} if re.fullmatch(UUID_PATTERN, value) else {}
    name = request.parameters[needs.parameter]
    if needs.via_record:
        return ancestor_cache.ids_of_record(name) or {
            kind.parameter: NIL_UUID for kind in (needs.container_type, *needs.container_type.ancestor_types())
        }
    if not needs.by_slug:
        return {needs.container_type.parameter: name}
    guard = table.get(guard_key(needs.container_type.uniques["by_slug"], {"slug": name}))
    return {needs.container_type.parameter: NIL_UUID if guard is None or table.is_expired(guard) else guard["ref"]}


def _ancestor_keys(place: type[Container], ids: Mapping[str, str]) -> dict[type[Container], ItemKey]:
    return {
        kind: kind.make_item_key(id=ids[kind.parameter]) for kind in place.ancestor_types() if kind.parameter in ids
    }


def _record_keys(operation: Operation, names: Mapping[str, str]) -> dict[str, ItemKey | None]:
    keys: dict[str, ItemKey | None] = {}
    for name, entity in operation.records.items():
        needed = {**names, entity.id_field: names[entity.parameter]}
        keys[name] = entity.make_item_key(**needed) if entity.is_valid_id(needed) else None
    return keys


def _prefetch_keys(
    operation: Operation, request: Request, caller: User | UnverifiedApiKey | Anonymous
) -> Iterator[ItemKey]:
    # A query with a fault is refused in the end, so that nothing has to be read for it.
    if operation.prefetch and validation.is_valid_query(operation.query, request):
        yield from operation.prefetch(request)
    if operation.prefetch_for_user and isinstance(caller, User):
        yield from operation.prefetch_for_user(request, caller)


def _user_ids(operation: Operation, request: Request, caller: User | UnverifiedApiKey | Anonymous) -> tuple[str, ...]:
    """Return the ids of the users whose standing has to be known: the caller's, and the other's that the path names."""
    other = subject_user_id(operation, request, [])
    others = (other,) if re.fullmatch(UUID_PATTERN, other) else ()
    return (caller.id, *others) if isinstance(caller, User) else others
