import json
from collections import Counter
from dataclasses import replace
from itertools import product

import pytest

from tests.harness import snapshots
from tests.harness.audit_logs import list_entries
from tests.harness.clock import backdate
from tests.harness.erasures import complete_erasure, create_erasure, keys_of_items_containing, post_erasure
from tests.harness.invitations import SOPHIE_EMAIL, accept_invitation, create_invitation
from tests.harness.organizations import (
    add_organization_member,
    create_api_key,
    create_organization,
    roles_by_username,
    transfer_ownership,
)
from tests.harness.workers import queued_bodies

UNKNOWN_USER_ID = "01939d3c-0000-4000-8000-00000000000a"


def stored_erasures(organization):
    items = snapshots.items_by_key().items()
    return [item for (pk, sk), item in items if pk == f"O#{organization.id}" and sk[:2] == "Z#"]


def running_erasure_count():
    (counter,) = (item for (_, sk), item in snapshots.items_by_key().items() if sk == "COUNT#running erasures")
    return int(counter["n"])


def transfer(api, organization, new_owner):
    """Transfer an organization, and return it with its new owner."""
    assert transfer_ownership(api, organization, organization.owner, new_owner.id).status == 200
    return replace(organization, owner=new_owner)


class TestErasePerson:
    def test_a_body_with_an_email_address_or_a_user_id_is_required(self, api, organization, ada):
        for identity in ({}, {"email": None}, {"userId": None}, {"email": None, "userId": None}):
            assert post_erasure(api, organization, **identity).errors == {"": "required"}
        assert api.post(f"{organization.path}/erasures", caller=ada).errors == {"": "required"}
        assert stored_erasures(organization) == []

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            *(("email", value) for value in ("grace", "", 3, [SOPHIE_EMAIL])),
            *(("userId", value) for value in ("grace", "", "*", 3)),
        ],
    )
    def test_an_invalid_field_is_rejected(self, api, organization, name, value):
        response = post_erasure(api, organization, **{"email": SOPHIE_EMAIL, name: value})
        assert [*response.validation_errors] == [f"/{name}"]
        assert stored_erasures(organization) == []

    def test_neither_the_owner_nor_two_people_nor_an_api_key_can_be_erased(self, api, organization, ada, grace, mary):
        active_key, revoked_key = (create_api_key(api, organization, "admin") for _ in range(2))
        api.delete(f"{organization.api_keys_path}/{revoked_key.id}", caller=ada)
        identities_of_owner = [
            *({"userId": user_id} for user_id in (ada.id, ada.id.upper())),
            *({"email": address} for address in (ada.email, " ADA@Example.Com ")),
            *({"email": address, "userId": ada.id} for address in (ada.email, SOPHIE_EMAIL)),
            {"email": ada.email, "userId": UNKNOWN_USER_ID},
        ]
        for identity in identities_of_owner:
            assert post_erasure(api, organization, **identity).status_and_code == "409 owner_must_transfer", identity
        for email_owner, id_owner in ((grace, mary), (mary, grace), (grace, ada), (ada, grace)):
            response = post_erasure(api, organization, email=email_owner.email.upper(), userId=id_owner.id.upper())
            assert (response.status, response.errors) == (422, {"/userId": "another_person"})
            assert "one erasure for each person" in response.json["errors"][0]["detail"]
        for key, email in product((active_key, revoked_key), (None, SOPHIE_EMAIL, "grace@example.com")):
            response = post_erasure(api, organization, userId=key.id.upper(), email=email)
            assert (response.status, response.errors) == (422, {"/userId": "api_key"}), email
            assert response.json["errors"][0]["detail"] == (
                "This is the id of an API key, not of a user. Delete the key instead: "
                f"DELETE {organization.api_keys_path}/{key.id}"
            )
        assert stored_erasures(organization) == []

    def test_an_id_may_come_with_a_former_or_shared_email_address_or_be_unknown(
        self, api, organization, ada, grace, mary
    ):
        api.delete(f"{organization.path}/members/{mary.id}", caller=ada)
        foreign_key = create_api_key(api, create_organization(api, ada), "admin")
        for email, user_id in ((SOPHIE_EMAIL, grace.id), (grace.email, mary.id), (None, foreign_key.id)):
            assert post_erasure(api, organization, email=email, userId=user_id).status == 202, email

    def test_the_principal_of_an_id_is_read_once(self, api, organization, grace, mary):
        by_email = post_erasure(api, organization, email=grace.email)
        same_person = post_erasure(api, organization, email=grace.email, userId=grace.id)
        two_people = post_erasure(api, organization, email=grace.email, userId=mary.id)
        assert Counter(same_person.calls.call_names) == Counter(by_email.calls.call_names)
        batch_read, queries = "dynamodb:BatchGetItem", ["dynamodb:Query"] * 2
        assert two_people.calls.read_names == [batch_read, *queries, batch_read]
        unknown = post_erasure(api, organization, userId=UNKNOWN_USER_ID)
        assert unknown.calls.call_names == [batch_read, batch_read, "dynamodb:TransactWriteItems", "sqs:SendMessage"]

    def test_a_former_owner_can_be_erased(self, api, organization, ada, grace):
        owned_by_grace = transfer(api, organization, grace)
        assert post_erasure(api, owned_by_grace, email=ada.email).status == 202
        assert post_erasure(api, owned_by_grace, userId=grace.id).status_and_code == "409 owner_must_transfer"

    def test_an_erasure_continues_unseen_after_the_deletion_of_the_organization(
        self, api, organization, ada, grace, erase
    ):
        path = erase.begin(userId=grace.id)
        api.delete(organization.path, caller=ada)
        assert post_erasure(api, organization, email=SOPHIE_EMAIL).status_and_code == "404 not_found"
        assert api.get(path, caller=ada).status_and_code == "404 not_found"
        erase.finish()
        assert keys_of_items_containing(grace.id, grace.email) == []

    def test_an_organization_has_at_most_ten_running_erasures(self, api, organization, workers, erase):
        paths = [erase.begin(email=f"{n}@example.org") for n in range(10)]
        rejected = post_erasure(api, organization, email=SOPHIE_EMAIL)
        assert (rejected.status_and_code, running_erasure_count()) == ("409 limit_exceeded", 10)
        detail = "The maximum number of running erasures is reached: 10. Wait until one is completed."
        assert rejected.json["detail"] == detail
        workers.deliver()
        assert {erase.get(path)["status"] for path in paths} == {"completed"}
        assert all("turn_at" in erasure for erasure in stored_erasures(organization)), "the second search is due"
        assert running_erasure_count() == 0
        erase.begin(email=SOPHIE_EMAIL)
        assert running_erasure_count() == 1
        erase.finish()
        assert running_erasure_count() == 0

    def test_the_log_and_queue_messages_do_not_contain_the_person(self, api, organization, grace):
        response = post_erasure(api, organization, email=grace.email, userId=grace.id)
        queued = str([*queued_bodies("events.fifo"), *queued_bodies("jobs")])
        assert "erasures.run" in queued
        entry = list_entries(api, organization, limit=1)[0]
        assert (entry["type"], entry["data"]) == ("organization.person_erased", response.json)
        for personal_value in (grace.id, grace.email, grace.name, grace.username):
            assert personal_value not in queued + json.dumps(entry)


def test_an_erasure_shows_its_progress_and_then_forgets_the_person(api, organization, ada, grace, workers, erase):
    create_api_key(api, organization, caller=grace)
    path = erase.begin(email=grace.email, userId=grace.id)
    queued = api.get(path, caller=ada)
    if_none_match = {"If-None-Match": queued.etag}
    assert api.get(path, caller=ada, headers=if_none_match).status == 304
    workers.deliver()
    completed = api.get(path, caller=ada, headers=if_none_match)
    erase.finish()
    observed = [queued.json, completed.json, erase.get(path)]
    counts = [(erasure["status"], erasure["erasedRecords"], erasure["erasedEntries"]) for erasure in observed]
    assert counts == [("queued", 0, 0), ("completed", 2, 2), ("completed", 2, 2)]
    (stored,) = stored_erasures(organization)
    assert (stored["user_ids"], stored["emails"], stored["accounts"]) == ([], [], [])
    assert not {"position", "turn_at"} & {*stored}


OWNER_ERROR = (
    "This person owns the organization. Transfer the ownership to another member, then create the erasure again."
)


@pytest.fixture
def owned_by_returned_ada(api, organization, ada, grace, issuer):
    """The organization, owned by Ada again, whose email address has changed since she created it."""
    ada_with_new_email = issuer.create_person("ada", "Ada Lovelace", email="ada@lovelace.example")
    owned_by_grace = transfer(api, organization, grace)
    api.post(f"{organization.path}/leave", caller=ada)
    accept_invitation(api, create_invitation(api, owned_by_grace, ada_with_new_email), ada_with_new_email)
    return transfer(api, owned_by_grace, ada_with_new_email)


def assert_failed(api, organization, path, erase):
    record = erase.get(path, caller=organization.owner)
    assert (record["status"], record["erasedRecords"], record["erasedEntries"]) == ("failed", 0, 0)
    assert record["error"] == OWNER_ERROR
    assert [*roles_by_username(api, organization).values()].count("owner") == 1
    (stored,) = stored_erasures(organization)
    assert (stored["user_ids"], stored["emails"], stored.get("position")) == ([], [], None)


def test_the_former_email_address_of_the_owner_does_not_erase_them(api, owned_by_returned_ada, erase):
    path = create_erasure(api, owned_by_returned_ada, email="ada@example.com")
    erase.finish()
    assert_failed(api, owned_by_returned_ada, path, erase)


def test_a_member_who_becomes_the_owner_is_not_erased_and_the_failure_does_not_count(api, organization, grace, erase):
    path = erase.begin(userId=grace.id)
    assert running_erasure_count() == 1
    owned_by_grace = transfer(api, organization, grace)
    erase.finish()
    assert_failed(api, owned_by_grace, path, erase)
    assert running_erasure_count() == 0


def test_an_owner_who_joined_during_the_completion_stays_and_the_erasure_reports_it(
    api, organization, grace, workers, erase
):
    path = erase.begin(userId=grace.id)
    workers.deliver()
    with backdate(minutes=1):
        add_organization_member(organization, grace, "admin")
    owned_by_grace = transfer(api, organization, grace)
    erase.finish()
    record = erase.get(path, caller=owned_by_grace.owner)
    assert (record["status"], record["error"]) == ("completed", OWNER_ERROR)


def test_another_user_with_the_former_email_address_of_the_owner_can_be_erased(
    api, organization, owned_by_returned_ada, issuer, workers, clock, erase
):
    emmy = issuer.create_person("emmy", "Emmy Noether", email="ada@example.com")
    accept_invitation(api, create_invitation(api, owned_by_returned_ada, emmy), emmy)
    path = create_erasure(api, owned_by_returned_ada, email=emmy.email)
    erase.finish()
    assert erase.get(path, caller=owned_by_returned_ada.owner)["error"] == OWNER_ERROR
    complete_erasure(api, workers, clock, owned_by_returned_ada, userId=emmy.id)
    assert keys_of_items_containing(emmy.id, emmy.email) == []
    assert api.get(organization.path, caller=owned_by_returned_ada.owner).status == 200


def test_the_erasures_of_an_organization_are_listed_newest_first_without_the_person(
    api, workers, organization, grace, clock
):
    addresses = [f"{name}@example.org" for name in ("first", "second", "third")]
    erasures = [complete_erasure(api, workers, clock, organization, email=each) for each in addresses]
    path = f"{organization.path}/erasures"
    pages = api.get_pages(path, caller=organization.owner, query={"limit": 2})
    assert [page["items"] for page in pages] == [erasures[:0:-1], erasures[:1]]
    create_erasure(api, organization, email="running@example.org")
    running = api.get(path, caller=organization.owner)
    assert running.json["items"][0]["status"] == "queued"
    assert "@" not in running.text
    assert api.get(path, caller=grace).status_and_code == "403 insufficient_role"
