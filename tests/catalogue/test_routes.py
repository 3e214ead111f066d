"""Checks the routes and declarations of all operations."""

import re
from collections import defaultdict
from collections.abc import Callable
from itertools import pairwise
from typing import Final

from chalicelib.entrypoints.catalogue import FEATURES, all_operations
from chalicelib.entrypoints.route_hints import hints_by_path
from chalicelib.kernel.operations.access_rules import Caller, ContainerReference, RequireRole
from chalicelib.kernel.operations.operation import Operation
from chalicelib.kernel.permissions.roles import GENERAL_SCOPES, Role, all_scopes, scopes_allow
from chalicelib.kernel.permissions.scope_areas import scope_areas

IRREGULAR_PARTICIPLES: Final = frozenset({"sent", "resent", "left", "set", "reset", "withdrawn", "begun"})
"""Past participles that do not end with -ed."""


def test_routes_and_operation_ids_are_unique():
    for names in ([(o.method, o.path) for o in all_operations()], [o.id for o in all_operations()]):
        assert len(set(names)) == len(names)


def test_a_path_parameter_has_one_name_at_its_position_across_all_routes():
    # API Gateway rejects `/x/{a}` together with `/x/{b}/y`. The emulators do not.
    names = defaultdict(set)
    for path in {*(operation.path for operation in all_operations()), *hints_by_path()}:
        segments = path.split("/")
        for position, segment in enumerate(segments):
            if segment.startswith("{"):
                names["/".join(segments[:position])].add(segment)
    assert {prefix: parameters for prefix, parameters in names.items() if len(parameters) > 1} == {}


def test_no_two_paths_differ_only_by_parameter_names():
    shapes = defaultdict(set)
    for path in {*(operation.path for operation in all_operations()), *hints_by_path()}:
        shapes[re.sub(r"{\w+}", "{}", path)].add(path)
    assert {shape: paths for shape, paths in shapes.items() if len(paths) > 1} == {}


def find_exceptions(follows_rule: Callable[[Operation], object]) -> list[str]:
    """Return the operations that do not follow a rule."""
    return [operation.id for operation in all_operations() if not follows_rule(operation)]


def test_every_path_consists_of_lower_case_words_and_named_parameters():
    pattern = r"/|(/([a-z][a-z0-9.-]*|{[a-z]+(_[a-z]+)*}))+"
    assert find_exceptions(lambda o: re.fullmatch(pattern, o.path)) == []


def test_every_summary_is_a_sentence():
    assert find_exceptions(lambda o: re.fullmatch(r"[A-Z][^\n]+\.", o.summary) and len(o.summary) <= 120) == []


def test_every_operation_takes_every_parameter_of_its_path():
    def used_parameters(operation: Operation) -> set[str]:
        records = {record.parameter for record in operation.record_types_by_parameter.values()}
        rule, own = operation.access, {*records, *operation.text_path_parameters}
        if isinstance(rule, RequireRole) and rule.location is not ContainerReference.BODY_ID:
            own.add(rule.container_or_record_parameter)
        return own

    assert find_exceptions(lambda o: used_parameters(o) == {*o.path_parameter_names}) == []


def test_every_operation_that_can_write_emits_an_event():
    writes = [o for o in all_operations() if o.method in ("PUT", "PATCH", "DELETE") or is_scope(o, ":write")]
    assert [operation.id for operation in writes if not operation.emits_events] == []


def is_scope(operation: Operation, verb: str) -> bool:
    return (operation.scope or "").endswith(verb)


def test_every_event_is_named_by_its_subject_and_a_past_participle():
    events = {event for operation in all_operations() for event in operation.emits}
    assert [e for e in events if not re.fullmatch(r"[a-z]+(_[a-z]+)*(\.[a-z]+(_[a-z]+)*)+", e)] == []
    participles = {re.split(r"[._]", event)[-1] for event in events}
    assert {each for each in participles if not each.endswith("ed")} <= IRREGULAR_PARTICIPLES


def test_every_scope_can_be_held_by_an_api_key_and_fits_the_method():
    assert {operation.scope for operation in all_operations() if operation.scope} <= {*all_scopes()}
    with_scope = [operation for operation in all_operations() if operation.scope]
    assert [o.id for o in with_scope if o.method == "GET" and not is_scope(o, ":read")] == []


def test_every_scope_permits_operations_that_the_next_weaker_scope_does_not():
    def permitted_operations(scope: str) -> set[str]:
        return {o.id for o in all_operations() if o.scope and scopes_allow([scope], o.scope, required_role(o))}

    def required_role(operation: Operation) -> Role:
        rule = operation.access
        return (isinstance(rule, RequireRole) and rule.role) or Role.MEMBER

    sequences = [GENERAL_SCOPES, *(area.scopes for area in scope_areas())]
    assert {scope for scopes in sequences for scope in scopes} == {*all_scopes()}
    useless = [
        scope
        for scopes in sequences
        for weaker, scope in pairwise(["", *scopes])
        if permitted_operations(scope) <= (permitted_operations(weaker) if weaker else set())
    ]
    assert useless == []


def test_no_operation_has_a_scope_where_api_keys_are_rejected_anyway():
    def rejects_keys(operation: Operation) -> bool:
        rule = operation.access
        is_for_owners = isinstance(rule, RequireRole) and rule.role is Role.OWNER
        return is_for_owners or operation.allows_anonymous or rule in (Caller.USER, Caller.OPERATOR)

    assert find_exceptions(lambda o: o.scope is None or not rejects_keys(o)) == []


def test_every_operation_belongs_to_a_feature_or_to_the_documentation():
    features = {f"chalicelib.features.{feature}.operations" for feature in FEATURES}
    known = {
        *features,
        *(f"chalicelib.entrypoints.{name}" for name in ("console", "documentation", "event_types", "signed_links")),
    }
    assert find_exceptions(lambda o: o.function.__module__ in known) == []
