"""Fixtures of the tests of organizations."""

import pytest

from tests.harness.api import ApiClient
from tests.harness.callers import Person
from tests.harness.invitations import CreatedInvitation, create_invitation
from tests.harness.organizations import CreatedOrganization


@pytest.fixture
def invitation(api: ApiClient, organization: CreatedOrganization, stranger: Person) -> CreatedInvitation:
    """Sophie's invitation to the organization as an editor."""
    return create_invitation(api, organization, stranger, role="editor")
