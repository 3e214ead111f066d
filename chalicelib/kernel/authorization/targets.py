"""Resolves the target of a request: which container, records and users it names.

Later steps of authorization decide whether they exist and whether the caller sees them.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from chalicelib.kernel.authorization import ancestor_cache
from chalicelib.kernel.core.case_folding import ascii_lower
from chalicelib.kernel.http.fields import UUID_PATTERN
from chalicelib.kernel.http.request import Request
from chalicelib.kernel.identity.auth import Anonymous, UnverifiedApiKey
from chalicelib.kernel.identity.jwt import User
from chalicelib.kernel.operations.access_rules import ContainerReference, OfRecord, RequireRole
from chalicelib.kernel.operations.operation import Operation
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Container, Item, ItemKey
from chalicelib.kernel.transactions.unique_items import guard_key

NIL_UUID: Final = "00000000-0000-0000-0000-000000000000"
"""An id that does not exist. It is read instead of a missing one, so that both take equally long."""

UnverifiedCaller = User | UnverifiedApiKey | Anonymous
"""The caller of a request, before the record of an API key is read."""


@dataclass(frozen=True)
class Target:
    """The item keys of what a request names.

    `container`: None if there is none, or if the body does not name one. `ancestors`: the known ancestors of the
    container, nearest first. `are_ancestors_cached`: whether this process knew them. `records`: the records of the
    path, None if the key of one is not known. `user_ids`: the users whose memberships are needed. `parameters`: those
    of the path, with the known ids of the container and its ancestors.
    """

    container: ItemKey | None
    ancestors: Mapping[type[Container], ItemKey]
    are_ancestors_cached: bool
    records: Mapping[str, ItemKey | None]
    user_ids: tuple[str, ...]
    parameters: Mapping[str, str]


def resolve_target(operation: Operation, request: Request, caller: UnverifiedCaller) -> Target:
    """Return the target of a request. A container that is named by its slug or a record takes a read if not cached."""
    rule = operation.access
    ids, are_cached = _resolve_container_ids(rule, request) if isinstance(rule, RequireRole) else ({}, False)
    parameters = {**request.parameters, **ids}
    container, ancestors = None, dict[type[Container], ItemKey]()
    if isinstance(rule, RequireRole) and ids:
        container = rule.container_type.make_item_key(id=ids[rule.container_type.parameter])
        known_ids = {**ancestor_cache.cached_ancestor_ids_or_empty(container), **ids}
        ancestors = {
            kind: kind.make_item_key(id=known_ids[kind.parameter])
            for kind in rule.container_type.ancestor_types_nearest_first()
            if kind.parameter in known_ids
        }
        are_cached = are_cached or bool(ancestor_cache.cached_ancestor_ids_or_empty(container))
    return Target(
        container,
        ancestors,
        are_cached,
        _record_keys_by_parameter(operation, parameters),
        _membership_user_ids(operation, request, caller),
        parameters,
    )


def subject_user_id(operation: Operation, request: Request, record_items: Iterable[Item]) -> str:
    """Return the id of the user in the operation's `subject_user_param`, from path or record, or an empty text."""
    name = operation.subject_user_param
    return next((each[name] for each in (request.parameters, *record_items) if name and name in each), "")


def _resolve_container_ids(rule: RequireRole, request: Request) -> tuple[dict[str, str], bool]:
    """Return the ids of the container and its known ancestors by parameter, and whether they were cached.

    There are none if the body does not name the container. What does not exist has the id `NIL_UUID`.
    """
    parameter = rule.container_type.parameter
    if rule.location is ContainerReference.BODY_ID:
        sent_id = request.unvalidated_json_object_or_empty.get(rule.container_id_body_field)
        value = ascii_lower(sent_id.strip()) if isinstance(sent_id, str) else ""
        return ({parameter: value} if re.fullmatch(UUID_PATTERN, value) else {}), False
    name = request.parameters[rule.container_or_record_parameter]
    if isinstance(rule.location, OfRecord):
        pointer_key = ancestor_cache.ancestor_pointer_key(name)
        is_cached = bool(ancestor_cache.cached_ancestor_ids_or_empty(pointer_key))
        container_types = (rule.container_type, *rule.container_type.ancestor_types_nearest_first())
        nil_ids = {kind.parameter: NIL_UUID for kind in container_types}
        return ancestor_cache.load_ancestor_ids_of_record(name) or nil_ids, is_cached
    if rule.location is ContainerReference.PATH_SLUG:
        guard = table.get(guard_key(rule.container_type.uniques["by_slug"], {"slug": name}))
        return {parameter: NIL_UUID if guard is None or table.is_expired(guard) else guard["ref"]}, False
    return {parameter: name}, False


def _record_keys_by_parameter(operation: Operation, values: Mapping[str, str]) -> dict[str, ItemKey | None]:
    keys: dict[str, ItemKey | None] = {}
    for name, entity in operation.record_types_by_parameter.items():
        key_values = {**values, entity.id_field: values[entity.parameter]}
        keys[name] = entity.make_item_key(**key_values) if entity.has_key_fields(key_values) else None
    return keys


def _membership_user_ids(operation: Operation, request: Request, caller: UnverifiedCaller) -> tuple[str, ...]:
    """Return the ids of the users whose memberships are needed: the caller, and the subject in the path."""
    subject_id = subject_user_id(operation, request, ())
    subject_ids = (subject_id,) if re.fullmatch(UUID_PATTERN, subject_id) else ()
    return (caller.id, *subject_ids) if isinstance(caller, User) else subject_ids
