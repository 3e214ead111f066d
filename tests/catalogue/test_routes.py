"""What holds for the routes of all operations together."""

import ast
import re
from collections import defaultdict
from typing import Final

from chalicelib.entrypoints.catalogue import FEATURES, operations
from chalicelib.entrypoints.kinds import KINDS
from chalicelib.entrypoints.routes import ROUTES
from chalicelib.kernel.operations.access_rules import Caller, RequireRole
from chalicelib.kernel.operations.operation import Operation
from chalicelib.kernel.permissions.roles import Role, all_scopes
from local.generators import generate
from tests.harness.by_operation import by_operation

IRREGULAR: Final = frozenset({"sent", "resent", "left", "set", "reset", "withdrawn", "begun"})
"""Past participles that don't end with -ed."""


def test_the_route_table_is_what_the_decorators_say() -> None:
    generated = ast.literal_eval(generate.routes().rpartition(" = ")[2])
    assert generated == ROUTES, "run `make generate`"


def test_the_table_of_kinds_is_what_the_classes_say() -> None:
    generated = ast.literal_eval(generate.kinds().rpartition(" = ")[2])
    assert generated == KINDS, "run `make generate`"


def test_every_route_is_one_operations() -> None:
    routes = [(operation.method, operation.path) for operation in operations()]
    assert len(set(routes)) == len(routes)
    ids = [operation.id for operation in operations()]
    assert len(set(ids)) == len(ids)


def test_a_path_parameter_has_one_name_at_its_position_across_all_routes() -> None:
    # API Gateway refuses `/x/{a}` beside `/x/{b}/y`; nothing on this machine does.
    names = defaultdict(set)
    for operation in operations():
        segments = operation.path.split("/")
        for position, segment in enumerate(segments):
            if segment.startswith("{"):
                names["/".join(segments[:position])].add(segment)
    assert {prefix: found for prefix, found in names.items() if len(found) > 1} == {}


def test_no_two_paths_differ_by_parameter_names_only() -> None:
    shapes = defaultdict(set)
    for operation in operations():
        shapes[re.sub(r"{\w+}", "{}", operation.path)].add(operation.path)
    assert {shape: paths for shape, paths in shapes.items() if len(paths) > 1} == {}


@by_operation()
class TestEveryOperation:
    def test_has_a_path_of_lower_case_words_and_named_parameters(self, operation: Operation) -> None:
        assert re.fullmatch(r"(/([a-z][a-z0-9.-]*|{[a-z]+(_[a-z]+)*}))+", operation.path)

    def test_says_in_a_sentence_what_it_does(self, operation: Operation) -> None:
        assert re.fullmatch(r"[A-Z][^\n]+\.", operation.summary)
        assert len(operation.summary) <= 120

    def test_takes_every_parameter_of_its_path(self, operation: Operation) -> None:
        taken = {record.parameter for record in operation.records.values()} | set(operation.plain_arguments)
        if isinstance(operation.access, RequireRole) and not operation.access.in_body:
            taken.add(operation.access.parameter)
        assert taken == set(operation.path_parameters)

    def test_emits_an_event_if_it_can_change_something(self, operation: Operation) -> None:
        if operation.method in ("PUT", "PATCH", "DELETE") or (operation.scope or "").endswith(":write"):
            assert operation.mutates

    def test_names_its_events_by_what_they_are_about_and_a_past_participle(self, operation: Operation) -> None:
        for event in operation.emits:
            assert re.fullmatch(r"[a-z]+(_[a-z]+)*(\.[a-z]+(_[a-z]+)*)+", event)
            participle = re.split(r"[._]", event)[-1]
            assert participle.endswith("ed") or participle in IRREGULAR

    def test_has_a_scope_that_an_api_key_can_hold(self, operation: Operation) -> None:
        assert operation.scope is None or operation.scope in all_scopes()

    def test_has_no_scope_where_api_keys_are_refused_anyway(self, operation: Operation) -> None:
        owners = isinstance(operation.access, RequireRole) and operation.access.role is Role.OWNER
        if owners or operation.allows_anonymous or operation.access in (Caller.USER, Caller.OPERATOR):
            assert operation.scope is None

    def test_has_a_scope_that_reads_if_it_is_a_read(self, operation: Operation) -> None:
        if operation.method == "GET" and operation.scope:
            assert operation.scope.endswith(":read")

    def test_stands_in_a_feature_or_with_the_documentation(self, operation: Operation) -> None:
        features = {f"chalicelib.features.{feature}.operations" for feature in FEATURES}
        documenting = {f"chalicelib.entrypoints.{module}" for module in ("documentation", "event_types")}
        assert operation.function.__module__ in features | documenting
