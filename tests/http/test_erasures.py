import json
from collections import Counter
from dataclasses import replace

import pytest

from chalicelib.features.privacy.erasures.entities import Erasure
from chalicelib.kernel.work import queues
from tests.harness import snapshots
from tests.harness.api import Api, Json
from tests.harness.callers import Person
from tests.harness.clock import Clock
from tests.harness.erasures import asked_to_erase, begin_erasure, erased, finish, found_at, left_of
from tests.harness.faults import Fault, failing
from tests.harness.invitations import SOPHIE
from tests.harness.logs import log_of
from tests.harness.organizations import Founded, found, make_key
from tests.harness.workers import Workers, bodies

UNKNOWN_USER_ID = "01939d3c-0000-4000-8000-00000000000a"


def stored_erasures(organization: Founded) -> list[Json]:
    """Return the stored erasures of an organization."""
    return [item for (pk, sk), item in snapshots.stored().items() if pk == f"O#{organization.id}" and sk[:2] == "Z#"]


def running_erasure_count() -> int:
    """Return how many erasures count against the quota."""
    (counter,) = (item for (_, sk), item in snapshots.stored().items() if sk == "COUNT#running erasures")
    return int(counter["n"])


class TestErasePerson:
    def test_an_erasure_is_queued_and_found_at_its_location(
        self, api: Api, organization: Founded, ada: Person, grace: Person, clock: Clock
    ) -> None:
        timestamp = clock.freeze()
        response = asked_to_erase(api, organization, email=grace.email)
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
        assert api.get(response.location, as_=ada).json == response.json

    @pytest.mark.parametrize("identity", [{}, {"email": None}, {"userId": None}, {"email": None, "userId": None}])
    def test_an_email_address_or_a_user_id_is_required(self, api: Api, organization: Founded, identity: Json) -> None:
        response = asked_to_erase(api, organization, **identity)
        assert (response.code, response.faults) == ("422 validation_failed", {"": "required"})
        assert stored_erasures(organization) == []

    def test_a_body_is_required(self, api: Api, organization: Founded, ada: Person) -> None:
        response = api.post(f"{organization.path}/erasures", as_=ada)
        assert response.faults == {"": "required"}

    @pytest.mark.parametrize(
        ("field", "value"),
        [
            ("email", "grace"),
            ("email", ""),
            ("email", 3),
            ("email", [SOPHIE]),
            ("userId", "grace"),
            ("userId", ""),
            ("userId", "*"),
            ("userId", 3),
            ("name", "Grace Hopper"),
            ("status", "completed"),
        ],
    )
    def test_an_invalid_field_is_rejected(self, api: Api, organization: Founded, field: str, value: object) -> None:
        identity: Json = {"email": SOPHIE, field: value}
        response = asked_to_erase(api, organization, **identity)
        assert (response.code, set(response.faults)) == ("422 validation_failed", {f"/{field}"})
        assert stored_erasures(organization) == []

    def test_the_owner_cannot_be_erased_by_id_or_email_address(
        self, api: Api, organization: Founded, ada: Person
    ) -> None:
        identities: list[Json] = [
            {"userId": ada.id},
            {"userId": ada.id.upper()},
            {"email": ada.email},
            {"email": " ADA@Example.Com "},
            {"email": ada.email, "userId": ada.id},
            {"email": SOPHIE, "userId": ada.id},
            {"email": ada.email, "userId": UNKNOWN_USER_ID},
        ]
        for identity in identities:
            assert asked_to_erase(api, organization, **identity).code == "409 owner_must_transfer", identity
        assert stored_erasures(organization) == []

    def test_an_id_and_an_email_address_of_different_members_are_rejected(
        self, api: Api, organization: Founded, ada: Person, grace: Person, mary: Person
    ) -> None:
        for email_owner, id_owner in ((grace, mary), (mary, grace), (grace, ada), (ada, grace)):
            response = asked_to_erase(api, organization, email=email_owner.email.upper(), userId=id_owner.id.upper())
            assert (response.code, response.faults) == ("422 validation_failed", {"/userId": "another_person"})
            assert "one erasure for each person" in response.json["errors"][0]["detail"]
        assert stored_erasures(organization) == []

    def test_an_id_may_come_with_a_former_or_shared_email_address(
        self, api: Api, organization: Founded, ada: Person, grace: Person, mary: Person
    ) -> None:
        api.delete(f"{organization.path}/members/{mary.id}", as_=ada)
        for email, user_id in ((SOPHIE, grace.id), (grace.email, mary.id)):
            assert asked_to_erase(api, organization, email=email, userId=user_id).status == 202, email

    def test_the_principal_of_an_id_is_read_once(
        self, api: Api, organization: Founded, grace: Person, mary: Person
    ) -> None:
        by_email = asked_to_erase(api, organization, email=grace.email)
        same_person = asked_to_erase(api, organization, email=grace.email, userId=grace.id)
        two_people = asked_to_erase(api, organization, email=grace.email, userId=mary.id)
        assert Counter(same_person.calls.names) == Counter(by_email.calls.names)
        assert two_people.calls.reads == ["dynamodb:BatchGetItem", *["dynamodb:Query"] * 2, "dynamodb:BatchGetItem"]
        unknown = asked_to_erase(api, organization, userId=UNKNOWN_USER_ID)
        assert unknown.calls.names[:2] == ["dynamodb:BatchGetItem"] * 2
        assert unknown.calls.names[2:] == ["dynamodb:TransactWriteItems", "sqs:SendMessage"]

    def test_the_id_of_an_api_key_is_rejected(self, api: Api, organization: Founded, ada: Person) -> None:
        active, revoked = (make_key(api, organization, "admin") for _ in range(2))
        api.delete(f"{organization.keys}/{revoked.id}", as_=ada)
        for key in (active, revoked):
            for email in (None, SOPHIE, "grace@example.com"):
                response = asked_to_erase(api, organization, userId=key.id.upper(), email=email)
                assert (response.code, response.faults) == ("422 validation_failed", {"/userId": "api_key"}), email
                assert response.json["errors"][0]["detail"] == (
                    "This is the id of an API key, not of a user. Delete the key instead: "
                    f"DELETE {organization.keys}/{key.id}"
                )
        assert stored_erasures(organization) == []

    def test_the_id_of_an_api_key_of_another_organization_is_accepted(
        self, api: Api, organization: Founded, ada: Person
    ) -> None:
        foreign_key = make_key(api, found(api, ada), "admin")
        assert asked_to_erase(api, organization, userId=foreign_key.id).status == 202

    def test_a_former_owner_can_be_erased(self, api: Api, organization: Founded, ada: Person, grace: Person) -> None:
        api.post(f"{organization.path}/transfer-ownership", as_=ada, json={"newOwnerId": grace.id})
        assert asked_to_erase(api, organization, as_=grace, email=ada.email).status == 202
        assert asked_to_erase(api, organization, as_=grace, userId=grace.id).code == "409 owner_must_transfer"

    def test_only_the_owner_may_erase(
        self,
        api: Api,
        organization: Founded,
        grace: Person,
        edith: Person,
        mary: Person,
        stranger: Person,
        operator: Person,
    ) -> None:
        for person in (grace, edith, mary):
            assert asked_to_erase(api, organization, as_=person, email=SOPHIE).code == "403 insufficient_role"
        assert asked_to_erase(api, organization, as_=make_key(api, organization, "admin")).code == "403 forbidden"
        rival = found(api, stranger).owner
        for person in (rival, operator):
            assert asked_to_erase(api, organization, as_=person, email=SOPHIE).code == "404 not_found"
        assert api.post(f"{organization.path}/erasures", json={"email": SOPHIE}).code == "401 unauthenticated"
        assert stored_erasures(organization) == []

    def test_members_cannot_erase_themselves(self, api: Api, organization: Founded, mary: Person) -> None:
        assert asked_to_erase(api, organization, as_=mary, userId=mary.id).code == "403 insufficient_role"

    def test_a_deleted_organization_is_not_found(self, api: Api, organization: Founded, ada: Person) -> None:
        path = begin_erasure(api, organization, email=SOPHIE)
        api.delete(organization.path, as_=ada)
        assert asked_to_erase(api, organization, email=SOPHIE).code == "404 not_found"
        assert api.get(path, as_=ada).code == "404 not_found"

    def test_an_erasure_continues_after_the_deletion_of_the_organization(
        self, api: Api, organization: Founded, ada: Person, grace: Person, workers: Workers, clock: Clock
    ) -> None:
        begin_erasure(api, organization, userId=grace.id)
        api.delete(organization.path, as_=ada)
        finish(workers, clock)
        assert left_of(grace.id, grace.email) == []

    def test_a_repeated_idempotency_key_starts_one_erasure(self, api: Api, organization: Founded, ada: Person) -> None:
        path, headers = f"{organization.path}/erasures", {"Idempotency-Key": "once"}
        first, repeated = (api.post(path, as_=ada, json={"email": SOPHIE}, headers=headers) for _ in range(2))
        assert repeated.said == first.said
        assert repeated.headers["Idempotency-Replayed"] == "true"
        assert len(stored_erasures(organization)) == 1

    def test_an_organization_has_at_most_ten_running_erasures(
        self, api: Api, organization: Founded, workers: Workers, clock: Clock
    ) -> None:
        for n in range(10):
            begin_erasure(api, organization, email=f"{n}@example.org")
        rejected = asked_to_erase(api, organization, email=SOPHIE)
        assert (rejected.code, rejected.json["detail"]) == (
            "409 limit_exceeded",
            "At most 10 running erasures are allowed. Wait until one is completed.",
        )
        finish(workers, clock)
        begin_erasure(api, organization, email=SOPHIE)

    def test_a_completed_erasure_does_not_count_before_its_second_search(
        self, api: Api, organization: Founded, workers: Workers, clock: Clock
    ) -> None:
        paths = [begin_erasure(api, organization, email=f"{n}@example.org") for n in range(10)]
        workers.deliver()
        assert {found_at(api, organization, path)["status"] for path in paths} == {"completed"}
        assert all("turn_at" in erasure for erasure in stored_erasures(organization))
        assert running_erasure_count() == 0
        for n in range(10):
            begin_erasure(api, organization, email=f"{n}@example.com")
        assert (running_erasure_count(), asked_to_erase(api, organization, email=SOPHIE).code) == (
            10,
            "409 limit_exceeded",
        )
        finish(workers, clock)
        assert running_erasure_count() == 0

    def test_a_failed_erasure_does_not_count(
        self, api: Api, organization: Founded, grace: Person, workers: Workers, clock: Clock
    ) -> None:
        path = begin_erasure(api, organization, userId=grace.id)
        assert running_erasure_count() == 1
        transfer_path = f"{organization.path}/transfer-ownership"
        assert api.post(transfer_path, as_=organization.owner, json={"newOwnerId": grace.id}).status == 200
        finish(workers, clock)
        assert found_at(api, replace(organization, owner=grace), path)["status"] == "failed"
        assert running_erasure_count() == 0

    def test_the_log_holds_the_erasure_without_the_person(
        self, api: Api, organization: Founded, ada: Person, grace: Person
    ) -> None:
        response = asked_to_erase(api, organization, email=grace.email, userId=grace.id)
        entry = log_of(api, organization, limit=1)[0]
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

    def test_queue_messages_do_not_contain_the_person(self, api: Api, organization: Founded, grace: Person) -> None:
        begin_erasure(api, organization, email=grace.email, userId=grace.id)
        queued = [*bodies("events.fifo"), *bodies("jobs")]
        assert "erasures.run" in str(queued)
        assert not any(personal_value in str(queued) for personal_value in (grace.id, grace.email))


class TestGetErasure:
    def test_the_erasure_shows_its_progress(
        self, api: Api, organization: Founded, grace: Person, workers: Workers, clock: Clock
    ) -> None:
        make_key(api, organization, as_=grace)
        path = begin_erasure(api, organization, email=grace.email)
        observed = [found_at(api, organization, path)]
        workers.deliver()
        observed.append(found_at(api, organization, path))
        finish(workers, clock)
        observed.append(found_at(api, organization, path))
        assert [(erasure["status"], erasure["erasedRecords"], erasure["erasedEntries"]) for erasure in observed] == [
            ("queued", 0, 0),
            ("completed", 2, 2),
            ("completed", 2, 2),
        ]

    def test_the_etag_changes_with_the_progress(
        self, api: Api, organization: Founded, ada: Person, workers: Workers, clock: Clock
    ) -> None:
        path = begin_erasure(api, organization, email=SOPHIE)
        etag = api.get(path, as_=ada).etag
        assert api.get(path, as_=ada, headers={"If-None-Match": etag}).status == 304
        finish(workers, clock)
        assert api.get(path, as_=ada, headers={"If-None-Match": etag}).status == 200

    def test_the_person_is_forgotten_after_the_second_search(
        self, api: Api, organization: Founded, grace: Person, workers: Workers, clock: Clock
    ) -> None:
        erased(api, workers, clock, organization, email=grace.email, userId=grace.id)
        (stored,) = stored_erasures(organization)
        assert (stored["user_ids"], stored["emails"], stored["accounts"]) == ([], [], [])
        assert not {"position", "turn_at"} & {*stored}

    def test_a_failed_second_search_is_reported_on_the_completed_erasure(
        self, api: Api, organization: Founded, ada: Person, grace: Person, workers: Workers, clock: Clock
    ) -> None:
        path = begin_erasure(api, organization, email=grace.email)
        workers.deliver()
        completed = api.get(path, as_=ada)
        with failing(Fault.THROTTLED, times=None, name="dynamodb:Query"):
            for _ in range(7):
                clock.shift(minutes=4)
                queues.enqueue(
                    Erasure.task, Erasure.make_item_key(organization_id=organization.id, id=completed.json["id"])
                )
                workers.attempt()
        after_second_search = api.get(path, as_=ada)
        assert (completed.json["status"], completed.json["error"]) == ("completed", None)
        assert after_second_search.json == completed.json | {
            "error": (
                "The second search, for records in flight at the completion, failed. Verify the log, then create the "
                "erasure again."
            )
        }
        assert after_second_search.etag != completed.etag
        erased(api, workers, clock, organization, userId=grace.id)
        assert left_of(grace.id, grace.email) == []

    def test_only_the_owner_may_read_an_erasure(
        self, api: Api, organization: Founded, grace: Person, mary: Person, stranger: Person
    ) -> None:
        path = begin_erasure(api, organization, email=SOPHIE)
        for person in (grace, mary):
            assert api.get(path, as_=person).code == "403 insufficient_role"
        assert api.get(path, as_=make_key(api, organization, "admin")).code == "403 forbidden"
        assert api.get(path, as_=stranger).code == "404 not_found"
        assert api.get(path).code == "401 unauthenticated"

    def test_an_erasure_of_another_organization_is_not_found(
        self, api: Api, organization: Founded, ada: Person
    ) -> None:
        other_organization = found(api, ada)
        path = begin_erasure(api, other_organization, email=SOPHIE)
        foreign_path = path.replace(other_organization.id, organization.id)
        assert api.get(foreign_path, as_=ada).code == "404 not_found"
        assert api.get(f"{organization.path}/erasures/{UNKNOWN_USER_ID}", as_=ada).code == "404 not_found"
