"""The target of a request: the container, its ancestors, records and users that path and body name.

Later reads decide whether they exist and whether the caller sees them.
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
"""An id that does not exist. It is read instead of a missing one, so that both take equally long."""


@dataclass(frozen=True)
class RequestTarget:
    """The item keys of what a request names: container, known ancestors and records.

    `member_container`: the container, if it has members. `user_ids`: the users whose memberships are needed.
    `prefetch`: further keys that the operation reads. `ancestors_cached`: whether the ancestors were cached.
    `is_nested`: whether the container's type has ancestors.
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
    def outermost_container_key_or_none(self) -> ItemKey | None:
        """Return the key of the outermost container, or None if it is not known yet."""
        if self.is_nested:
            return next((key for kind, key in self.ancestors.items() if kind.parent_type is None), None)
        return self.container

    def keys(self) -> Iterator[ItemKey]:
        """Yield all item keys, including those that decide about access."""
        yield from (key for key in (self.container, *self.records.values()) if key)
        yield from self.ancestors.values()
        for user_id in self.user_ids:
            yield from membership_view_keys(user_id, self.member_container, self.ancestors.values())
        yield from self.prefetch


def find_request_target(
    operation: Operation, request: Request, caller: User | UnverifiedApiKey | Anonymous
) -> RequestTarget:
    """Return the target of a request. Finding a container by slug, or a record's ancestors by id, can take a read."""
    rule = operation.access
    container, member_container, ancestors, container_ids, ancestors_cached = None, None, {}, {}, False
    if isinstance(rule, RequireRole):
        ancestors_cached = bool(
            rule.via_record
            and ancestor_cache.cached_ancestor_ids_or_empty(
                ancestor_cache.ancestor_pointer_key(request.parameters[rule.container_or_record_parameter])
            )
        )
        container_ids = _find_container_and_ancestor_ids(rule, request)
        container = (
            rule.container_type.make_item_key(id=container_ids[rule.container_type.parameter])
            if container_ids
            else None
        )
        ancestors_cached = ancestors_cached or bool(ancestor_cache.cached_ancestor_ids_or_empty(container))
        member_container = container if rule.container_type.has_members else None
        ancestors = _ancestor_keys_by_type(
            rule.container_type, {**ancestor_cache.cached_ancestor_ids_or_empty(container), **container_ids}
        )
    records = _record_keys_by_parameter(operation, {**request.parameters, **container_ids})
    # Prefetch functions get the ids of containers like path parameters.
    prefetch_keys = _prefetch_keys(
        operation, replace(request, parameters={**request.parameters, **container_ids}), caller
    )
    is_nested = isinstance(rule, RequireRole) and rule.container_type.parent_type is not None
    user_ids = _membership_user_ids(operation, request, caller)
    return RequestTarget(
        container, member_container, ancestors, records, user_ids, tuple(prefetch_keys), ancestors_cached, is_nested
    )


def subject_user_id(operation: Operation, request: Request, records: list[Item]) -> str:
    """Return the id of the user in the operation's `subject_user_param`, from path or record, or an empty text."""
    if not operation.subject_user_param:
        return ""
    if operation.subject_user_param in request.parameters:
        return request.parameters[operation.subject_user_param]
    return next(
        (record[operation.subject_user_param] for record in records if operation.subject_user_param in record), ""
    )


def _find_container_and_ancestor_ids(rule: RequireRole, request: Request) -> dict[str, str]:
    """Return the ids of the container and its known ancestors by parameter, or nothing if there cannot be any."""
    if rule.in_body:
        sent_id = request.unvalidated_json_object_or_empty.get(rule.container_id_body_field)
        value = ascii_lower(sent_id.strip()) if isinstance(sent_id, str) else ""
        return {rule.container_type.parameter: value} if re.fullmatch(UUID_PATTERN, value) else {}
    name = request.parameters[rule.container_or_record_parameter]
    if rule.via_record:
        return ancestor_cache.load_ancestor_ids_of_record(name) or {
            kind.parameter: NIL_UUID
            for kind in (rule.container_type, *rule.container_type.ancestor_types_nearest_first())
        }
    if not rule.by_slug:
        return {rule.container_type.parameter: name}
    guard = table.get(guard_key(rule.container_type.uniques["by_slug"], {"slug": name}))
    return {rule.container_type.parameter: NIL_UUID if guard is None or table.is_expired(guard) else guard["ref"]}


def _ancestor_keys_by_type(container_type: type[Container], ids: Mapping[str, str]) -> dict[type[Container], ItemKey]:
    return {
        kind: kind.make_item_key(id=ids[kind.parameter])
        for kind in container_type.ancestor_types_nearest_first()
        if kind.parameter in ids
    }


def _record_keys_by_parameter(operation: Operation, values: Mapping[str, str]) -> dict[str, ItemKey | None]:
    keys: dict[str, ItemKey | None] = {}
    for name, entity in operation.record_types_by_parameter.items():
        key_values = {**values, entity.id_field: values[entity.parameter]}
        keys[name] = entity.make_item_key(**key_values) if entity.has_key_fields(key_values) else None
    return keys


def _prefetch_keys(
    operation: Operation, request: Request, caller: User | UnverifiedApiKey | Anonymous
) -> Iterator[ItemKey]:
    # An invalid query is rejected later, so nothing has to be read for it.
    if operation.prefetch and validation.is_valid_query(operation.query_model, request):
        yield from operation.prefetch(request)
    if operation.prefetch_for_user and isinstance(caller, User):
        yield from operation.prefetch_for_user(request, caller)


def _membership_user_ids(
    operation: Operation, request: Request, caller: User | UnverifiedApiKey | Anonymous
) -> tuple[str, ...]:
    """Return the ids of the users whose memberships are needed: the caller, and the subject in the path."""
    subject_id = subject_user_id(operation, request, [])
    subject_ids = (subject_id,) if re.fullmatch(UUID_PATTERN, subject_id) else ()
    return (caller.id, *subject_ids) if isinstance(caller, User) else subject_ids
