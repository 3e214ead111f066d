"""Resolves the target of a request: which container, records and users it names.

Later steps of authorization decide whether they exist and whether the caller sees them.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from chalicelib.kernel.authorization import ancestor_cache
from chalicelib.kernel.core.case_folding import ascii_lower
from chalicelib.kernel.http.fields import UUID_PATTERN
from chalicelib.kernel.http.request import Request
from chalicelib.kernel.identity.auth import UnverifiedCaller, user_id_of_rights_or_none
from chalicelib.kernel.operations.access_rules import ContainerReference, OfRecord, RequireRole
from chalicelib.kernel.operations.operation import Operation
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Container, ItemKey
from chalicelib.kernel.transactions.unique_items import guard_key

NIL_UUID: Final = "00000000-0000-0000-0000-000000000000"
"""An id that does not exist. It is read instead of a missing one, so that both take equally long."""


@dataclass(frozen=True)
class Target:
    """The item keys of what a request names.

    `container`: None if there is none, or if the body does not name one. `ancestors`: the known ancestors of the
    container, nearest first. `outermost_container`: the last of them, or the container if its type has no parent.
    `are_ancestors_cached`: whether this process knew them. `records`: the records of the path, None if the key of one
    is not known. `user_ids`: the users whose memberships are needed: the caller, or the creator of the caller's link,
    and the subject in the path. `parameters`: those of the path, with the known ids of the container and its ancestors.
    """

    container: ItemKey | None
    ancestors: Mapping[type[Container], ItemKey]
    outermost_container: ItemKey | None
    are_ancestors_cached: bool
    records: Mapping[str, ItemKey | None]
    user_ids: tuple[str, ...]
    parameters: Mapping[str, str]


def resolve_target(operation: Operation, request: Request, caller: UnverifiedCaller) -> Target:
    """Return the target of a request. A container that is named by its slug or a record takes a read if not cached."""
    rule = operation.access
    container, ancestors, ids, are_cached = None, dict[type[Container], ItemKey](), dict[str, str](), False
    if isinstance(rule, RequireRole):
        ids, are_cached = _resolve_container_ids(rule, request)
    if isinstance(rule, RequireRole) and ids:
        container = rule.container_type.make_item_key(id=ids[rule.container_type.parameter])
        cached_ids = ancestor_cache.cached_ancestor_ids_or_empty(container)
        known_ids, are_cached = {**cached_ids, **ids}, are_cached or bool(cached_ids)
        ancestors = {
            kind: kind.make_item_key(id=known_ids[kind.parameter])
            for kind in rule.container_type.ancestor_types_nearest_first()
            if kind.parameter in known_ids
        }
    is_nested = isinstance(rule, RequireRole) and rule.container_type.parent_type
    outermost = next((key for kind, key in ancestors.items() if kind.parent_type is None), None)
    parameters, subject_id = {**request.parameters, **ids}, request.parameters.get(operation.subject_user_param, "")
    return Target(
        container,
        ancestors,
        outermost if is_nested else container,
        are_cached,
        {
            name: kind.make_item_key(**values) if kind.has_key_fields(values) else None
            for name, kind in operation.record_types_by_parameter.items()
            for values in [{**parameters, kind.id_field: parameters[kind.parameter]}]
        },
        (
            *([user_id] if (user_id := user_id_of_rights_or_none(caller)) else []),
            *([subject_id] if re.fullmatch(UUID_PATTERN, subject_id) else []),
        ),
        parameters,
    )


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
