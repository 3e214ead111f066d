"""Checks the routes and declarations of all operations."""

import ast
import re
from collections import defaultdict
from typing import Final

from chalicelib.entrypoints.catalogue import FEATURES, all_operations
from chalicelib.entrypoints.kinds import KINDS
from chalicelib.entrypoints.routes import ROUTES
from chalicelib.kernel.operations.access_rules import Caller, RequireRole
from chalicelib.kernel.permissions.roles import Role, all_scopes
from local.generators import generate
from tests.harness.parametrize_operations import parametrize_operations

IRREGULAR_PARTICIPLES: Final = frozenset({"sent", "resent", "left", "set", "reset", "withdrawn", "begun"})
"""Past participles that do not end with -ed."""


def test_the_route_table_matches_the_decorators():
    generated = ast.literal_eval(generate.routes_source().rpartition(" = ")[2])
    assert generated == ROUTES, "run `make generate`"


def test_the_table_of_kinds_matches_the_classes():
    generated = ast.literal_eval(generate.kinds_source().rpartition(" = ")[2])
    assert generated == KINDS, "run `make generate`"


def test_routes_and_operation_ids_are_unique():
    routes = [(operation.method, operation.path) for operation in all_operations()]
    assert len(set(routes)) == len(routes)
    ids = [operation.id for operation in all_operations()]
    assert len(set(ids)) == len(ids)


def test_a_path_parameter_has_one_name_at_its_position_across_all_routes():
    # API Gateway rejects `/x/{a}` together with `/x/{b}/y`. The emulators do not.
    names = defaultdict(set)
    for operation in all_operations():
        segments = operation.path.split("/")
        for position, segment in enumerate(segments):
            if segment.startswith("{"):
                names["/".join(segments[:position])].add(segment)
    assert {prefix: parameters for prefix, parameters in names.items() if len(parameters) > 1} == {}


def test_no_two_paths_differ_only_by_parameter_names():
    shapes = defaultdict(set)
    for operation in all_operations():
        shapes[re.sub(r"{\w+}", "{}", operation.path)].add(operation.path)
    assert {shape: paths for shape, paths in shapes.items() if len(paths) > 1} == {}


@parametrize_operations()
class TestEveryOperation:
    def test_has_a_path_of_lower_case_words_and_named_parameters(self, operation):
        assert re.fullmatch(r"(/([a-z][a-z0-9.-]*|{[a-z]+(_[a-z]+)*}))+", operation.path)

    def test_has_a_sentence_as_its_summary(self, operation):
        assert re.fullmatch(r"[A-Z][^\n]+\.", operation.summary)
        assert len(operation.summary) <= 120

    def test_takes_every_parameter_of_its_path(self, operation):
        used_parameters = {record.parameter for record in operation.record_types_by_parameter.values()} | set(
            operation.text_path_parameters
        )
        if isinstance(operation.access, RequireRole) and not operation.access.in_body:
            used_parameters.add(operation.access.container_or_record_parameter)
        assert used_parameters == set(operation.path_parameter_names)

    def test_emits_an_event_if_it_can_write(self, operation):
        if operation.method in ("PUT", "PATCH", "DELETE") or (operation.scope or "").endswith(":write"):
            assert operation.emits_events

    def test_names_its_events_by_subject_and_past_participle(self, operation):
        for event in operation.emits:
            assert re.fullmatch(r"[a-z]+(_[a-z]+)*(\.[a-z]+(_[a-z]+)*)+", event)
            participle = re.split(r"[._]", event)[-1]
            assert participle.endswith("ed") or participle in IRREGULAR_PARTICIPLES

    def test_has_a_scope_that_an_api_key_can_hold(self, operation):
        assert operation.scope is None or operation.scope in all_scopes()

    def test_has_no_scope_where_api_keys_are_rejected_anyway(self, operation):
        is_for_owners = isinstance(operation.access, RequireRole) and operation.access.role is Role.OWNER
        if is_for_owners or operation.allows_anonymous or operation.access in (Caller.USER, Caller.OPERATOR):
            assert operation.scope is None

    def test_has_a_read_scope_if_its_method_is_get(self, operation):
        if operation.method == "GET" and operation.scope:
            assert operation.scope.endswith(":read")

    def test_belongs_to_a_feature_or_to_the_documentation(self, operation):
        features = {f"chalicelib.features.{feature}.operations" for feature in FEATURES}
        documentation_modules = {f"chalicelib.entrypoints.{module}" for module in ("documentation", "event_types")}
        assert operation.function.__module__ in features | documentation_modules
