"""Only requests that need names or an e-mail address ask the issuer's userinfo endpoint, and at most once each."""

from dataclasses import replace
from typing import Final

from chalicelib.kernel.identity.claims import Profile
from chalicelib.kernel.operations.access_rules import Caller
from chalicelib.kernel.operations.operation import Operation
from tests.catalogue.examples.registry import call_operation, get_caller
from tests.catalogue.log_proof import entries_of_request, principal_of
from tests.catalogue.tenant_fixture import TenantFixture
from tests.harness.callers import Person
from tests.harness.parametrize_operations import parametrize_operations

READS_THAT_NEED_THE_PROFILE: Final = {"get_me", "list_my_invitations"}
"""Operations that need names and e-mail address, although they emit no event."""


def nameless(caller: Person, operation: Operation, tenant: TenantFixture) -> Person:
    """Return the caller with a token that has no claims about names."""
    groups = {"groups": ["operators"]} if operation.access is Caller.OPERATOR else {}
    return replace(caller, credential=tenant.people.issuer.issue_token(sub=caller.id, **groups))


@parametrize_operations()
def test_only_changes_and_decisions_ask_the_endpoint(operation, tenant, userinfo_profile):
    requested = userinfo_profile(Profile("zoe", "Zoë", "zoe@example.com", email_verified=True))
    caller = get_caller(operation, tenant)
    if not isinstance(caller, Person):
        caller = tenant.people.owner
    answer = call_operation(operation, tenant, caller=nameless(caller, operation, tenant))
    needs_profile = operation.emits_events or operation.id in READS_THAT_NEED_THE_PROFILE
    assert len(requested) <= (1 if needs_profile else 0)
    for entry in entries_of_request(answer):
        assert principal_of(entry)["name"] == "Zoë"
