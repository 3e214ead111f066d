import json
from collections import Counter
from dataclasses import replace

import pytest

from chalicelib.features.privacy.erasures.entities import Erasure
from chalicelib.kernel.work import queues
from tests.harness import snapshots
from tests.harness.api import Api, Json
from tests.harness.callers import Issuer, Person
from tests.harness.clock import Clock, ago
from tests.harness.erasures import asked_to_erase, begin_erasure, erased, finish, found_at, left_of
from tests.harness.faults import Fault, failing
from tests.harness.invitations import SOPHIE, accepts, invite
from tests.harness.logs import log_of
from tests.harness.organizations import Founded, found, joins, make_key
from tests.harness.workers import Workers, bodies

NOBODY = "01939d3c-0000-4000-8000-00000000000a"
OWNER = "This person owns the organization. Transfer the ownership to another member, then create the erasure again."


def erasures(organization: Founded) -> list[Json]:
    """What is stored of the organization's erasures."""
    return [item for (pk, sk), item in snapshots.stored().items() if pk == f"O#{organization.id}" and sk[:2] == "Z#"]


def counted() -> int:
    """How many erasures count against the limit."""
    (counter,) = (item for (_, sk), item in snapshots.stored().items() if sk == "COUNT#running erasures")
    return int(counter["n"])


class TestErasePerson:
    def test_it_is_begun_and_found_where_the_answer_says(
        self, api: Api, organization: Founded, ada: Person, grace: Person, clock: Clock
    ) -> None:
        moment = clock.freeze()
        answer = asked_to_erase(api, organization, email=grace.email)
        assert answer.status == 202
        assert answer.json == {
            "id": answer.json["id"],
            "createdAt": moment,
            "updatedAt": moment,
            "version": 1,
            "status": "queued",
            "erasedRecords": 0,
            "erasedEntries": 0,
            "error": None,
        }
        assert answer.location == f"{organization.path}/erasures/{answer.json['id']}"
        assert api.get(answer.location, as_=ada).json == answer.json

    @pytest.mark.parametrize("whom", [{}, {"email": None}, {"userId": None}, {"email": None, "userId": None}])
    def test_somebody_has_to_be_named(self, api: Api, organization: Founded, whom: Json) -> None:
        answer = asked_to_erase(api, organization, **whom)
        assert (answer.code, answer.faults) == ("422 validation_failed", {"": "required"})
        assert erasures(organization) == []

    def test_no_body_names_nobody(self, api: Api, organization: Founded, ada: Person) -> None:
        answer = api.post(f"{organization.path}/erasures", as_=ada)
        assert answer.faults == {"": "required"}

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
    def test_what_makes_no_sense_is_refused(self, api: Api, organization: Founded, field: str, value: object) -> None:
        whom: Json = {"email": SOPHIE, field: value}
        answer = asked_to_erase(api, organization, **whom)
        assert (answer.code, set(answer.faults)) == ("422 validation_failed", {f"/{field}"})
        assert erasures(organization) == []

    def test_the_owner_is_not_erased_by_their_id_nor_by_their_address(
        self, api: Api, organization: Founded, ada: Person
    ) -> None:
        named: list[Json] = [
            {"userId": ada.id},
            {"userId": ada.id.upper()},
            {"email": ada.email},
            {"email": " ADA@Example.Com "},
            {"email": ada.email, "userId": ada.id},
            {"email": SOPHIE, "userId": ada.id},
            {"email": ada.email, "userId": NOBODY},
        ]
        for whom in named:
            assert asked_to_erase(api, organization, **whom).code == "409 owner_must_transfer", whom
        assert erasures(organization) == []

    def test_two_members_are_not_taken_for_one_person(
        self, api: Api, organization: Founded, ada: Person, grace: Person, mary: Person
    ) -> None:
        for one, other in ((grace, mary), (mary, grace), (grace, ada), (ada, grace)):
            answer = asked_to_erase(api, organization, email=one.email.upper(), userId=other.id.upper())
            assert (answer.code, answer.faults) == ("422 validation_failed", {"/userId": "another_person"})
            assert "one erasure for each person" in answer.json["errors"][0]["detail"]
        assert erasures(organization) == []

    def test_somebody_is_named_by_a_former_address_or_one_that_a_former_member_shared(
        self, api: Api, organization: Founded, ada: Person, grace: Person, mary: Person
    ) -> None:
        api.delete(f"{organization.path}/members/{mary.id}", as_=ada)
        for email, user_id in ((SOPHIE, grace.id), (grace.email, mary.id)):
            assert asked_to_erase(api, organization, email=email, userId=user_id).status == 202, email

    def test_what_an_id_stands_for_is_asked_of_the_table_once(
        self, api: Api, organization: Founded, grace: Person, mary: Person
    ) -> None:
        alone = asked_to_erase(api, organization, email=grace.email)
        one = asked_to_erase(api, organization, email=grace.email, userId=grace.id)
        two = asked_to_erase(api, organization, email=grace.email, userId=mary.id)
        assert Counter(one.calls.names) == Counter(alone.calls.names)
        assert two.calls.reads == ["dynamodb:BatchGetItem", *["dynamodb:Query"] * 2, "dynamodb:BatchGetItem"]
        nobody = asked_to_erase(api, organization, userId=NOBODY)
        assert nobody.calls.names[:2] == ["dynamodb:BatchGetItem"] * 2
        assert nobody.calls.names[2:] == ["dynamodb:TransactWriteItems", "sqs:SendMessage"]

    def test_an_api_key_is_no_person(self, api: Api, organization: Founded, ada: Person) -> None:
        live, revoked = (make_key(api, organization, "admin") for _ in range(2))
        api.delete(f"{organization.keys}/{revoked.id}", as_=ada)
        for key in (live, revoked):
            for email in (None, SOPHIE, "grace@example.com"):
                answer = asked_to_erase(api, organization, userId=key.id.upper(), email=email)
                assert (answer.code, answer.faults) == ("422 validation_failed", {"/userId": "api_key"}), email
                assert answer.json["errors"][0]["detail"] == (
                    "This is the id of an API key, not of a user. Delete the key instead: "
                    f"DELETE {organization.keys}/{key.id}"
                )
        assert erasures(organization) == []

    def test_an_api_key_of_another_organization_is_nobody_here(
        self, api: Api, organization: Founded, ada: Person
    ) -> None:
        theirs = make_key(api, found(api, ada), "admin")
        assert asked_to_erase(api, organization, userId=theirs.id).status == 202

    def test_once_the_ownership_is_transferred_the_former_owner_can_be_erased(
        self, api: Api, organization: Founded, ada: Person, grace: Person
    ) -> None:
        api.post(f"{organization.path}/transfer-ownership", as_=ada, json={"newOwnerId": grace.id})
        assert asked_to_erase(api, organization, as_=grace, email=ada.email).status == 202
        assert asked_to_erase(api, organization, as_=grace, userId=grace.id).code == "409 owner_must_transfer"

    def test_only_the_owner_may(
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
        assert erasures(organization) == []

    def test_not_even_oneself(self, api: Api, organization: Founded, mary: Person) -> None:
        assert asked_to_erase(api, organization, as_=mary, userId=mary.id).code == "403 insufficient_role"

    def test_a_deleted_organization_is_not_there(self, api: Api, organization: Founded, ada: Person) -> None:
        path = begin_erasure(api, organization, email=SOPHIE)
        api.delete(organization.path, as_=ada)
        assert asked_to_erase(api, organization, email=SOPHIE).code == "404 not_found"
        assert api.get(path, as_=ada).code == "404 not_found"

    def test_what_was_begun_before_the_deletion_is_finished(
        self, api: Api, organization: Founded, ada: Person, grace: Person, workers: Workers, clock: Clock
    ) -> None:
        begin_erasure(api, organization, userId=grace.id)
        api.delete(organization.path, as_=ada)
        finish(workers, clock)
        assert left_of(grace.id, grace.email) == []

    def test_asked_for_again_with_its_key_it_is_the_same(self, api: Api, organization: Founded, ada: Person) -> None:
        path, once = f"{organization.path}/erasures", {"Idempotency-Key": "once"}
        first, again = (api.post(path, as_=ada, json={"email": SOPHIE}, headers=once) for _ in range(2))
        assert again.said == first.said
        assert again.headers["Idempotency-Replayed"] == "true"
        assert len(erasures(organization)) == 1

    def test_ten_run_at_a_time(self, api: Api, organization: Founded, workers: Workers, clock: Clock) -> None:
        for n in range(10):
            begin_erasure(api, organization, email=f"{n}@example.org")
        refused = asked_to_erase(api, organization, email=SOPHIE)
        assert (refused.code, refused.json["detail"]) == (
            "409 limit_exceeded",
            "At most 10 running erasures are allowed. Wait until one is completed.",
        )
        finish(workers, clock)
        begin_erasure(api, organization, email=SOPHIE)

    def test_one_that_is_completed_counts_no_more_although_it_will_look_again(
        self, api: Api, organization: Founded, workers: Workers, clock: Clock
    ) -> None:
        paths = [begin_erasure(api, organization, email=f"{n}@example.org") for n in range(10)]
        workers.deliver()
        assert {found_at(api, organization, path)["status"] for path in paths} == {"completed"}
        assert all("turn_at" in erasure for erasure in erasures(organization))
        assert counted() == 0
        for n in range(10):
            begin_erasure(api, organization, email=f"{n}@example.com")
        assert (counted(), asked_to_erase(api, organization, email=SOPHIE).code) == (10, "409 limit_exceeded")
        finish(workers, clock)
        assert counted() == 0

    def test_one_that_failed_counts_no_more(
        self, api: Api, organization: Founded, grace: Person, workers: Workers, clock: Clock
    ) -> None:
        path = begin_erasure(api, organization, userId=grace.id)
        assert counted() == 1
        transfer(api, organization, grace)
        finish(workers, clock)
        assert found_at(api, replace(organization, owner=grace), path)["status"] == "failed"
        assert counted() == 0

    def test_that_somebody_was_erased_is_in_the_log_and_who_is_not(
        self, api: Api, organization: Founded, ada: Person, grace: Person
    ) -> None:
        answer = asked_to_erase(api, organization, email=grace.email, userId=grace.id)
        entry = log_of(api, organization, limit=1)[0]
        assert (entry["type"], entry["actor"]["id"]) == ("organization.person_erased", ada.id)
        assert entry["target"] == {
            "type": "organization.erasure",
            "id": answer.json["id"],
            "name": answer.json["id"],
        }
        assert (entry["data"], entry["changes"]) == (answer.json, [])
        assert not any(mark in json.dumps(entry) for mark in (grace.id, grace.email, grace.name, grace.username))

    def test_what_is_queued_says_nothing_of_who_it_is(self, api: Api, organization: Founded, grace: Person) -> None:
        begin_erasure(api, organization, email=grace.email, userId=grace.id)
        queued = [*bodies("events.fifo"), *bodies("jobs")]
        assert "erasures.run" in str(queued)
        assert not any(mark in str(queued) for mark in (grace.id, grace.email))


class TestGetErasure:
    def test_it_says_how_far_it_is(
        self, api: Api, organization: Founded, grace: Person, workers: Workers, clock: Clock
    ) -> None:
        make_key(api, organization, as_=grace)
        path = begin_erasure(api, organization, email=grace.email)
        seen = [found_at(api, organization, path)]
        workers.deliver()
        seen.append(found_at(api, organization, path))
        finish(workers, clock)
        seen.append(found_at(api, organization, path))
        assert [(s["status"], s["erasedRecords"], s["erasedEntries"]) for s in seen] == [
            ("queued", 0, 0),
            ("completed", 2, 2),
            ("completed", 2, 2),
        ]

    def test_its_tag_changes_with_it(
        self, api: Api, organization: Founded, ada: Person, workers: Workers, clock: Clock
    ) -> None:
        path = begin_erasure(api, organization, email=SOPHIE)
        tag = api.get(path, as_=ada).etag
        assert api.get(path, as_=ada, headers={"If-None-Match": tag}).status == 304
        finish(workers, clock)
        assert api.get(path, as_=ada, headers={"If-None-Match": tag}).status == 200

    def test_once_it_has_looked_again_nobody_knows_whom_it_was_about(
        self, api: Api, organization: Founded, grace: Person, workers: Workers, clock: Clock
    ) -> None:
        erased(api, workers, clock, organization, email=grace.email, userId=grace.id)
        (stored,) = erasures(organization)
        assert (stored["user_ids"], stored["emails"], stored["accounts"]) == ([], [], [])
        assert not {"position", "turn_at"} & {*stored}

    def test_one_that_can_not_look_again_stays_completed_and_says_what_to_do(
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
        looked_again = api.get(path, as_=ada)
        assert (completed.json["status"], completed.json["error"]) == ("completed", None)
        assert looked_again.json == completed.json | {
            "error": (
                "The second search, for records in flight at the completion, failed. Verify the log, then create the "
                "erasure again."
            )
        }
        assert looked_again.etag != completed.etag
        erased(api, workers, clock, organization, userId=grace.id)
        assert left_of(grace.id, grace.email) == []

    def test_only_the_owner_may(
        self, api: Api, organization: Founded, grace: Person, mary: Person, stranger: Person
    ) -> None:
        path = begin_erasure(api, organization, email=SOPHIE)
        for person in (grace, mary):
            assert api.get(path, as_=person).code == "403 insufficient_role"
        assert api.get(path, as_=make_key(api, organization, "admin")).code == "403 forbidden"
        assert api.get(path, as_=stranger).code == "404 not_found"
        assert api.get(path).code == "401 unauthenticated"

    def test_another_organizations_is_not_found(self, api: Api, organization: Founded, ada: Person) -> None:
        other = found(api, ada)
        path = begin_erasure(api, other, email=SOPHIE)
        assert api.get(path.replace(other.id, organization.id), as_=ada).code == "404 not_found"
        assert api.get(f"{organization.path}/erasures/{NOBODY}", as_=ada).code == "404 not_found"


class TestWhoBecameTheOwner:
    @pytest.fixture
    def now_ada(self, api: Api, organization: Founded, ada: Person, grace: Person, issuer: Issuer) -> Founded:
        """The organization, owned by Ada again, who has another address than when she founded it."""
        later = issuer.person("ada", "Ada Lovelace", email="ada@lovelace.example")
        transfer(api, organization, grace)
        api.post(f"{organization.path}/leave", as_=ada)
        now_graces = replace(organization, owner=grace)
        accepts(api, invite(api, now_graces, later), later)
        transfer(api, now_graces, ada)
        return replace(organization, owner=later)

    def test_is_not_erased_by_an_address_they_had_before(
        self, api: Api, organization: Founded, now_ada: Founded, workers: Workers, clock: Clock
    ) -> None:
        path = begin_erasure(api, now_ada, email="ada@example.com")
        finish(workers, clock)
        self._is_refused(api, organization, path)

    def test_while_the_erasure_waits_is_not_erased(
        self, api: Api, organization: Founded, grace: Person, workers: Workers, clock: Clock
    ) -> None:
        path = begin_erasure(api, organization, userId=grace.id)
        transfer(api, organization, grace)
        finish(workers, clock)
        self._is_refused(api, replace(organization, owner=grace), path)

    def test_by_a_request_under_way_when_the_erasure_was_completed_stays_and_the_erasure_says_so(
        self, api: Api, organization: Founded, grace: Person, workers: Workers, clock: Clock
    ) -> None:
        path = begin_erasure(api, organization, userId=grace.id)
        workers.deliver()
        with ago(minutes=1):
            joins(organization, grace, "admin")
        transfer(api, organization, grace)
        finish(workers, clock)
        record = found_at(api, replace(organization, owner=grace), path)
        assert (record["status"], record["error"]) == ("completed", OWNER)

    def test_does_not_stand_in_the_way_of_another_who_had_their_address(
        self, api: Api, organization: Founded, now_ada: Founded, issuer: Issuer, workers: Workers, clock: Clock
    ) -> None:
        emmy = issuer.person("emmy", "Emmy Noether", email="ada@example.com")
        accepts(api, invite(api, now_ada, emmy), emmy)
        path = begin_erasure(api, now_ada, email=emmy.email)
        finish(workers, clock)
        assert found_at(api, now_ada, path)["error"] == OWNER
        erased(api, workers, clock, now_ada, userId=emmy.id)
        assert left_of(emmy.id, emmy.email) == []
        assert api.get(organization.path, as_=now_ada.owner).status == 200

    @staticmethod
    def _is_refused(api: Api, organization: Founded, path: str) -> None:
        record = found_at(api, organization, path)
        assert (record["status"], record["erasedRecords"], record["erasedEntries"]) == ("failed", 0, 0)
        assert record["error"] == OWNER
        assert [m["role"] for m in api.items(f"{organization.path}/members", as_=organization.owner)].count(
            "owner"
        ) == 1
        (stored,) = erasures(organization)
        assert (stored["user_ids"], stored["emails"], stored.get("position")) == ([], [], None)


def transfer(api: Api, organization: Founded, to: Person) -> None:
    path = f"{organization.path}/transfer-ownership"
    assert api.post(path, as_=organization.owner, json={"newOwnerId": to.id}).status == 200
