"""Names of users and API keys beside a list whose items contain their ids."""

import pytest

from tests.harness.invitations import create_invitation
from tests.harness.organizations import create_api_key, leave_organization


def names_of(api, path, caller):
    return api.get(path, caller=caller, query={"include": "names"}).expect(200).json["names"]


@pytest.fixture
def invited(api, organization):
    create_invitation(api, organization, "hedy@example.com")
    return f"{organization.path}/invitations"


def test_a_list_names_the_users_and_keys_in_its_items_without_addresses(api, organization, ada, invited):
    key = create_api_key(api, organization, "admin")
    create_invitation(api, organization, "joan@example.com", caller=key)
    (key_id,) = {each["invitedBy"] for each in api.get_items(invited, caller=ada)} - {ada.id}
    (listed_key,) = (
        each for each in api.get_items(f"{organization.path}/api-keys", caller=ada) if each["id"] == key_id
    )
    assert names_of(api, invited, ada) == {
        ada.id: {"type": "user", "name": ada.name, "username": ada.username},
        key_id: {"type": "api_key", "name": listed_key["name"], "username": None},
    }


def test_names_take_one_more_round_trip_and_only_if_they_are_requested(api, ada, invited):
    plain = api.get(invited, caller=ada)
    assert "names" not in plain.json
    named = api.get(invited, caller=ada, query={"include": "names"})
    assert {**named.json, "names": None} == {**plain.json, "names": None}
    extra = named.calls.call_names[len(plain.calls.call_names) :]
    assert extra == ["dynamodb:BatchGetItem"] * 2, "members and keys are read in parallel"
    assert named.etag != plain.etag


def test_former_members_have_no_name(api, organization, ada, grace):
    create_invitation(api, organization, "joan@example.com", caller=grace)
    path = f"{organization.path}/invitations"
    assert names_of(api, path, ada)[grace.id]["username"] == "grace"
    leave_organization(api, organization, grace)
    assert grace.id not in names_of(api, path, ada)


def test_a_cursor_continues_with_and_without_names(api, organization, ada):
    path = f"{organization.path}/members"
    first = api.get(path, caller=ada, query={"limit": "1", "include": "names"}).json
    assert [*first["names"]] == [ada.id]
    second = api.get(path, caller=ada, query={"limit": "1", "cursor": first["nextCursor"]}).expect(200).json
    assert "names" not in second
    assert second["items"][0]["userId"] != ada.id


def test_an_unknown_inclusion_is_rejected(api, ada, invited):
    rejected = api.get(invited, caller=ada, query={"include": "emails"})
    assert rejected.status == 422
    assert [*rejected.validation_errors] == ["query/include"]
