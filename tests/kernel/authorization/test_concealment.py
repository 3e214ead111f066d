"""A container that is not found takes equally many reads, whether it is missing or the caller does not see it."""

from uuid import uuid4

import pytest

from chalicelib.entrypoints.catalogue import all_operations
from chalicelib.kernel.authorization import ancestor_cache
from chalicelib.kernel.authorization.concealment import perform_skipped_reads
from chalicelib.kernel.authorization.read_plans import plan_reads
from chalicelib.kernel.authorization.targets import NIL_UUID, resolve_target
from chalicelib.kernel.http.request import Request
from chalicelib.kernel.identity.auth import Anonymous
from chalicelib.kernel.identity.claims import Profile
from chalicelib.kernel.identity.jwt import User
from chalicelib.kernel.operations.access_rules import RequireRole
from chalicelib.kernel.operations.inputs import RequestInput
from tests.harness.aws_calls import record_calls

pytestmark = pytest.mark.usefixtures("aws")

OPERATIONS = {operation.id: operation for operation in all_operations()}
USER = User("4c1a2b5e-0000-4000-8000-000000000001", Profile("ada", "Ada"))
ANONYMOUS = Anonymous("192.0.2.7")
READ, BATCH, QUERY = "dynamodb:GetItem", "dynamodb:BatchGetItem", "dynamodb:Query"


def skipped_reads(operation_id, caller=USER, *, is_missing, is_cached=False, query=()):
    """Return the names of the reads for a container that is not found."""
    operation = OPERATIONS[operation_id]
    parameters = {name: str(uuid4()) for name in operation.path_parameter_names}
    values = {name: [value] for name, value in query}
    request = Request(operation.method, operation.path, parameters, values, {}, b"{}", id="", ip="192.0.2.7")
    rule = operation.access
    assert isinstance(rule, RequireRole)
    if is_cached:
        name = parameters[rule.container_or_record_parameter]
        types = [rule.container_type, *rule.container_type.ancestor_types_nearest_first()]
        ids = {each.parameter: str(uuid4()) for each in types}
        own_key = rule.container_type.make_item_key(id=name)
        for key in (ancestor_cache.ancestor_pointer_key(name), own_key):
            ancestor_cache.store(key, ids)
    request_input = RequestInput(operation, request)
    plan = plan_reads(request_input, caller, resolve_target(operation, request, caller), ())
    with record_calls() as calls:
        perform_skipped_reads(plan, rule, caller, is_missing=is_missing)
    # Nothing that exists is read, except what belongs to the caller.
    assert all(NIL_UUID in str(call.parameters) or caller.id in str(call.parameters) for call in calls.call_list)
    return calls.call_names


def test_a_container_without_ancestors_takes_no_further_read():
    for is_missing in (False, True):
        assert skipped_reads("get_organization", is_missing=is_missing) == []


def test_ancestors_are_read_unless_the_request_has_read_them():
    assert skipped_reads("get_platform", is_missing=False) == []  # It exists, so its ancestors were read.
    assert skipped_reads("get_platform", is_missing=True) == [BATCH]
    assert skipped_reads("get_platform", is_missing=False, is_cached=True) == [BATCH]
    assert skipped_reads("get_platform", ANONYMOUS, is_missing=True) == [BATCH]


def test_the_pointer_of_a_record_is_read_if_it_was_cached():
    assert skipped_reads("get_taxonomy_node", is_missing=False, is_cached=True) == [READ]
    assert skipped_reads("get_taxonomy_node", is_missing=False) == []


def test_descendants_are_read_for_users_who_may_have_a_role_there():
    in_query = [("platformId", str(uuid4()))]
    assert skipped_reads("list_invitations", is_missing=False) == []
    assert skipped_reads("list_invitations", is_missing=True) == [QUERY, QUERY]
    assert skipped_reads("list_invitations", is_missing=True, query=in_query) == [BATCH]
    assert skipped_reads("list_invitations", ANONYMOUS, is_missing=True) == []
    assert skipped_reads("get_invitation", is_missing=True) == []  # Its record would name the descendant.


def test_a_body_without_a_container_takes_no_read():
    assert skipped_reads("create_platform", is_missing=True) == []
