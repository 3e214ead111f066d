import json
from collections import Counter
from dataclasses import replace

import pytest

from chalicelib.features.privacy.erasures.entities import Erasure
from chalicelib.kernel.work import queues
from tests.harness import snapshots
from tests.harness.api import Json
from tests.harness.audit_logs import list_entries
from tests.harness.erasures import (
    complete_erasure,
    create_erasure,
    finish_erasures,
    get_erasure,
    keys_of_items_containing,
    post_erasure,
)
from tests.harness.faults import Fault, inject_fault
from tests.harness.invitations import SOPHIE_EMAIL
from tests.harness.organizations import CreatedOrganization, create_api_key, create_organization
from tests.harness.workers import queued_bodies

UNKNOWN_USER_ID = "01939d3c-0000-4000-8000-00000000000a"


def stored_erasures(organization: CreatedOrganization) -> list[Json]:
    """Return the stored erasures of an organization."""
    return [
        item for (pk, sk), item in snapshots.items_by_key().items() if pk == f"O#{organization.id}" and sk[:2] == "Z#"
    ]


def running_erasure_count() -> int:
    """Return how many erasures count against the quota."""
    (counter,) = (item for (_, sk), item in snapshots.items_by_key().items() if sk == "COUNT#running erasures")
    return int(counter["n"])


class TestErasePerson:
    def test_an_erasure_is_queued_and_found_at_its_location(self, api, organization, ada, grace, clock):
        timestamp = clock.freeze()
        response = post_erasure(api, organization, email=grace.email)
        assert response.status == 202
        assert response.json == {
            "id": response.json["id"],
            "createdAt": timestamp,
            "updatedAt": timestamp,
            "version": 1,
            "status": "queued",
            "erasedRecords": 0,
            "erasedEntries": 0,
            "error": None,
        }
        assert response.location == f"{organization.path}/erasures/{response.json['id']}"
        assert api.get(response.location, caller=ada).json == response.json

    @pytest.mark.parametrize("identity", [{}, {"email": None}, {"userId": None}, {"email": None, "userId": None}])
    def test_an_email_address_or_a_user_id_is_required(self, api, organization, identity):
        response = post_erasure(api, organization, **identity)
        assert (response.status_and_code, response.errors) == ("422 validation_failed", {"": "required"})
        assert stored_erasures(organization) == []

    def test_a_body_is_required(self, api, organization, ada):
        response = api.post(f"{organization.path}/erasures", caller=ada)
        assert response.errors == {"": "required"}

    @pytest.mark.parametrize(
        ("field", "value"),
        [
            ("email", "grace"),
            ("email", ""),
            ("email", 3),
            ("email", [SOPHIE_EMAIL]),
            ("userId", "grace"),
            ("userId", ""),
            ("userId", "*"),
            ("userId", 3),
            ("name", "Grace Hopper"),
            ("status", "completed"),
        ],
    )
    def test_an_invalid_field_is_rejected(self, api, organization, field, value):
        identity: Json = {"email": SOPHIE_EMAIL, field: value}
        response = post_erasure(api, organization, **identity)
        assert (response.status_and_code, set(response.errors)) == ("422 validation_failed", {f"/{field}"})
        assert stored_erasures(organization) == []

    def test_the_owner_cannot_be_erased_by_id_or_email_address(self, api, organization, ada):
        identities: list[Json] = [
            {"userId": ada.id},
            {"userId": ada.id.upper()},
            {"email": ada.email},
            {"email": " ADA@Example.Com "},
            {"email": ada.email, "userId": ada.id},
            {"email": SOPHIE_EMAIL, "userId": ada.id},
            {"email": ada.email, "userId": UNKNOWN_USER_ID},
        ]
        for identity in identities:
            assert post_erasure(api, organization, **identity).status_and_code == "409 owner_must_transfer", identity
        assert stored_erasures(organization) == []

    def test_an_id_and_an_email_address_of_different_members_are_rejected(self, api, organization, ada, grace, mary):
        for email_owner, id_owner in ((grace, mary), (mary, grace), (grace, ada), (ada, grace)):
            response = post_erasure(api, organization, email=email_owner.email.upper(), userId=id_owner.id.upper())
            assert (response.status_and_code, response.errors) == (
                "422 validation_failed",
                {"/userId": "another_person"},
            )
            assert "one erasure for each person" in response.json["errors"][0]["detail"]
        assert stored_erasures(organization) == []

    def test_an_id_may_come_with_a_former_or_shared_email_address(self, api, organization, ada, grace, mary):
        api.delete(f"{organization.path}/members/{mary.id}", caller=ada)
        for email, user_id in ((SOPHIE_EMAIL, grace.id), (grace.email, mary.id)):
            assert post_erasure(api, organization, email=email, userId=user_id).status == 202, email

    def test_the_principal_of_an_id_is_read_once(self, api, organization, grace, mary):
        by_email = post_erasure(api, organization, email=grace.email)
        same_person = post_erasure(api, organization, email=grace.email, userId=grace.id)
        two_people = post_erasure(api, organization, email=grace.email, userId=mary.id)
        assert Counter(same_person.calls.call_names) == Counter(by_email.calls.call_names)
        assert two_people.calls.read_names == [
            "dynamodb:BatchGetItem",
            *["dynamodb:Query"] * 2,
            "dynamodb:BatchGetItem",
        ]
        unknown = post_erasure(api, organization, userId=UNKNOWN_USER_ID)
        assert unknown.calls.call_names[:2] == ["dynamodb:BatchGetItem"] * 2
        assert unknown.calls.call_names[2:] == ["dynamodb:TransactWriteItems", "sqs:SendMessage"]

    def test_the_id_of_an_api_key_is_rejected(self, api, organization, ada):
        active, revoked = (create_api_key(api, organization, "admin") for _ in range(2))
        api.delete(f"{organization.api_keys_path}/{revoked.id}", caller=ada)
        for key in (active, revoked):
            for email in (None, SOPHIE_EMAIL, "grace@example.com"):
                response = post_erasure(api, organization, userId=key.id.upper(), email=email)
                assert (response.status_and_code, response.errors) == (
                    "422 validation_failed",
                    {"/userId": "api_key"},
                ), email
                assert response.json["errors"][0]["detail"] == (
                    "This is the id of an API key, not of a user. Delete the key instead: "
                    f"DELETE {organization.api_keys_path}/{key.id}"
                )
        assert stored_erasures(organization) == []

    def test_the_id_of_an_api_key_of_another_organization_is_accepted(self, api, organization, ada):
        foreign_key = create_api_key(api, create_organization(api, ada), "admin")
        assert post_erasure(api, organization, userId=foreign_key.id).status == 202

    def test_a_former_owner_can_be_erased(self, api, organization, ada, grace):
        api.post(f"{organization.path}/transfer-ownership", caller=ada, json={"newOwnerId": grace.id})
        assert post_erasure(api, organization, caller=grace, email=ada.email).status == 202
        assert (
            post_erasure(api, organization, caller=grace, userId=grace.id).status_and_code == "409 owner_must_transfer"
        )

    def test_only_the_owner_may_erase(self, api, organization, grace, edith, mary, stranger, operator):
        for person in (grace, edith, mary):
            assert (
                post_erasure(api, organization, caller=person, email=SOPHIE_EMAIL).status_and_code
                == "403 insufficient_role"
            )
        assert (
            post_erasure(api, organization, caller=create_api_key(api, organization, "admin")).status_and_code
            == "403 forbidden"
        )
        rival = create_organization(api, stranger).owner
        for person in (rival, operator):
            assert post_erasure(api, organization, caller=person, email=SOPHIE_EMAIL).status_and_code == "404 not_found"
        assert (
            api.post(f"{organization.path}/erasures", json={"email": SOPHIE_EMAIL}).status_and_code
            == "401 unauthenticated"
        )
        assert stored_erasures(organization) == []

    def test_members_cannot_erase_themselves(self, api, organization, mary):
        assert post_erasure(api, organization, caller=mary, userId=mary.id).status_and_code == "403 insufficient_role"

    def test_a_deleted_organization_is_not_found(self, api, organization, ada):
        path = create_erasure(api, organization, email=SOPHIE_EMAIL)
        api.delete(organization.path, caller=ada)
        assert post_erasure(api, organization, email=SOPHIE_EMAIL).status_and_code == "404 not_found"
        assert api.get(path, caller=ada).status_and_code == "404 not_found"

    def test_an_erasure_continues_after_the_deletion_of_the_organization(
        self, api, organization, ada, grace, workers, clock
    ):
        create_erasure(api, organization, userId=grace.id)
        api.delete(organization.path, caller=ada)
        finish_erasures(workers, clock)
        assert keys_of_items_containing(grace.id, grace.email) == []

    def test_a_repeated_idempotency_key_starts_one_erasure(self, api, organization, ada):
        path, headers = f"{organization.path}/erasures", {"Idempotency-Key": "once"}
        first, repeated = (api.post(path, caller=ada, json={"email": SOPHIE_EMAIL}, headers=headers) for _ in range(2))
        assert repeated.comparable_content == first.comparable_content
        assert repeated.headers["Idempotency-Replayed"] == "true"
        assert len(stored_erasures(organization)) == 1

    def test_an_organization_has_at_most_ten_running_erasures(self, api, organization, workers, clock):
        for n in range(10):
            create_erasure(api, organization, email=f"{n}@example.org")
        rejected = post_erasure(api, organization, email=SOPHIE_EMAIL)
        assert (rejected.status_and_code, rejected.json["detail"]) == (
            "409 limit_exceeded",
            "At most 10 running erasures are allowed. Wait until one is completed.",
        )
        finish_erasures(workers, clock)
        create_erasure(api, organization, email=SOPHIE_EMAIL)

    def test_a_completed_erasure_does_not_count_before_its_second_search(self, api, organization, workers, clock):
        paths = [create_erasure(api, organization, email=f"{n}@example.org") for n in range(10)]
        workers.deliver()
        assert {get_erasure(api, organization, path)["status"] for path in paths} == {"completed"}
        assert all("turn_at" in erasure for erasure in stored_erasures(organization))
        assert running_erasure_count() == 0
        for n in range(10):
            create_erasure(api, organization, email=f"{n}@example.com")
        assert (running_erasure_count(), post_erasure(api, organization, email=SOPHIE_EMAIL).status_and_code) == (
            10,
            "409 limit_exceeded",
        )
        finish_erasures(workers, clock)
        assert running_erasure_count() == 0

    def test_a_failed_erasure_does_not_count(self, api, organization, grace, workers, clock):
        path = create_erasure(api, organization, userId=grace.id)
        assert running_erasure_count() == 1
        transfer_path = f"{organization.path}/transfer-ownership"
        assert api.post(transfer_path, caller=organization.owner, json={"newOwnerId": grace.id}).status == 200
        finish_erasures(workers, clock)
        assert get_erasure(api, replace(organization, owner=grace), path)["status"] == "failed"
        assert running_erasure_count() == 0

    def test_the_log_holds_the_erasure_without_the_person(self, api, organization, ada, grace):
        response = post_erasure(api, organization, email=grace.email, userId=grace.id)
        entry = list_entries(api, organization, limit=1)[0]
        assert (entry["type"], entry["actor"]["id"]) == ("organization.person_erased", ada.id)
        assert entry["target"] == {
            "type": "organization.erasure",
            "id": response.json["id"],
            "name": response.json["id"],
        }
        assert (entry["data"], entry["changes"]) == (response.json, [])
        assert not any(
            personal_value in json.dumps(entry)
            for personal_value in (grace.id, grace.email, grace.name, grace.username)
        )

    def test_queue_messages_do_not_contain_the_person(self, api, organization, grace):
        create_erasure(api, organization, email=grace.email, userId=grace.id)
        queued = [*queued_bodies("events.fifo"), *queued_bodies("jobs")]
        assert "erasures.run" in str(queued)
        assert not any(personal_value in str(queued) for personal_value in (grace.id, grace.email))


class TestGetErasure:
    def test_the_erasure_shows_its_progress(self, api, organization, grace, workers, clock):
        create_api_key(api, organization, caller=grace)
        path = create_erasure(api, organization, email=grace.email)
        observed = [get_erasure(api, organization, path)]
        workers.deliver()
        observed.append(get_erasure(api, organization, path))
        finish_erasures(workers, clock)
        observed.append(get_erasure(api, organization, path))
        assert [(erasure["status"], erasure["erasedRecords"], erasure["erasedEntries"]) for erasure in observed] == [
            ("queued", 0, 0),
            ("completed", 2, 2),
            ("completed", 2, 2),
        ]

    def test_the_etag_changes_with_the_progress(self, api, organization, ada, workers, clock):
        path = create_erasure(api, organization, email=SOPHIE_EMAIL)
        etag = api.get(path, caller=ada).etag
        assert api.get(path, caller=ada, headers={"If-None-Match": etag}).status == 304
        finish_erasures(workers, clock)
        assert api.get(path, caller=ada, headers={"If-None-Match": etag}).status == 200

    def test_the_person_is_forgotten_after_the_second_search(self, api, organization, grace, workers, clock):
        complete_erasure(api, workers, clock, organization, email=grace.email, userId=grace.id)
        (stored,) = stored_erasures(organization)
        assert (stored["user_ids"], stored["emails"], stored["accounts"]) == ([], [], [])
        assert not {"position", "turn_at"} & {*stored}

    def test_a_failed_second_search_is_reported_on_the_completed_erasure(
        self, api, organization, ada, grace, workers, clock
    ):
        path = create_erasure(api, organization, email=grace.email)
        workers.deliver()
        completed = api.get(path, caller=ada)
        with inject_fault(Fault.THROTTLED, times=None, call_name="dynamodb:Query"):
            for _ in range(7):
                clock.shift(minutes=4)
                queues.enqueue(
                    Erasure.task, Erasure.make_item_key(organization_id=organization.id, id=completed.json["id"])
                )
                workers.try_deliver()
        after_second_search = api.get(path, caller=ada)
        assert (completed.json["status"], completed.json["error"]) == ("completed", None)
        assert after_second_search.json == completed.json | {
            "error": (
                "The second search, for records in flight at the completion, failed. Verify the log, then create the "
                "erasure again."
            )
        }
        assert after_second_search.etag != completed.etag
        complete_erasure(api, workers, clock, organization, userId=grace.id)
        assert keys_of_items_containing(grace.id, grace.email) == []

    def test_only_the_owner_may_read_an_erasure(self, api, organization, grace, mary, stranger):
        path = create_erasure(api, organization, email=SOPHIE_EMAIL)
        for person in (grace, mary):
            assert api.get(path, caller=person).status_and_code == "403 insufficient_role"
        assert api.get(path, caller=create_api_key(api, organization, "admin")).status_and_code == "403 forbidden"
        assert api.get(path, caller=stranger).status_and_code == "404 not_found"
        assert api.get(path).status_and_code == "401 unauthenticated"

    def test_an_erasure_of_another_organization_is_not_found(self, api, organization, ada):
        other_organization = create_organization(api, ada)
        path = create_erasure(api, other_organization, email=SOPHIE_EMAIL)
        foreign_path = path.replace(other_organization.id, organization.id)
        assert api.get(foreign_path, caller=ada).status_and_code == "404 not_found"
        assert api.get(f"{organization.path}/erasures/{UNKNOWN_USER_ID}", caller=ada).status_and_code == "404 not_found"
