import pytest

from tests.harness.api import Answer, Api
from tests.harness.callers import Person
from tests.harness.clock import Clock
from tests.harness.logs import log_of
from tests.harness.organizations import Founded, found, make_key

MERGE_PATCH = {"Content-Type": "application/merge-patch+json"}


class TestUpdateOrganization:
    def test_what_is_sent_changes_and_what_is_left_out_stays(self, api: Api, ada: Person) -> None:
        organization = found(api, ada, companyName="Old", companyCountry="GB")
        answer = api.patch(organization.path, as_=ada, json={"companyName": "New"})
        assert answer.status == 200
        expected = {**organization.record, "companyName": "New", "version": 2, "updatedAt": answer.json["updatedAt"]}
        assert answer.json == expected
        assert answer.json["updatedAt"] > organization.record["updatedAt"]
        assert api.get(organization.path, as_=ada).json == expected

    def test_all_its_fields_can_change_at_once(self, api: Api, ada: Person) -> None:
        organization = found(api, ada)
        fields = {
            "name": "Difference Engines",
            "slug": "difference",
            "companyName": "D",
            "companyLegalName": "D Ltd.",
            "companyId": "7",
            "companyCountry": "FR",
            "companyAddress": "Paris",
            "legalEmail": "L@example.com",
            "supportEmail": "s@example.com",
        }
        record = api.patch(organization.path, as_=ada, json=fields).json
        assert {name: record[name] for name in fields} == {**fields, "legalEmail": "l@example.com"}

    def test_admins_may_and_lower_roles_may_not(
        self, api: Api, organization: Founded, grace: Person, edith: Person, mary: Person, stranger: Person
    ) -> None:
        change = {"json": {"name": "New"}}
        assert api.patch(organization.path, as_=grace, **change).status == 200
        for person in (edith, mary):
            assert api.patch(organization.path, as_=person, **change).code == "403 insufficient_role"
        assert api.patch(organization.path, as_=stranger, **change).code == "404 not_found"

    def test_keys_need_the_areas_scope_or_admin(self, api: Api, organization: Founded) -> None:
        for scope, status in (
            ("organizations:write", 200),
            ("admin", 200),
            ("write", 403),
            ("organizations:read", 403),
        ):
            key = make_key(api, organization, scope)
            assert api.patch(organization.path, as_=key, json={"name": scope}).status == status

    def test_a_taken_slug_changes_nothing(self, api: Api, ada: Person) -> None:
        found(api, ada, slug="taken")
        organization = found(api, ada, slug="mine")
        answer = api.patch(organization.path, as_=ada, json={"name": "New", "slug": "taken"})
        assert answer.code == "409 slug_taken"
        assert set(answer.faults) == {"/slug"}
        assert api.get(organization.path, as_=ada).json == organization.record
        assert len(log_of(api, organization)) == 1

    def test_its_own_slug_again_is_no_conflict(self, api: Api, ada: Person) -> None:
        organization = found(api, ada, slug="mine")
        assert api.patch(organization.path, as_=ada, json={"slug": "mine", "name": "New"}).status == 200


class TestMergePatch:
    def test_null_clears_what_is_optional(self, api: Api, ada: Person) -> None:
        organization = found(api, ada, companyName="A", companyCountry="GB", legalEmail="a@example.com")
        cleared = {"companyName": None, "companyCountry": None, "legalEmail": None}
        record = api.patch(organization.path, as_=ada, json=cleared).json
        assert {name: record[name] for name in cleared} == cleared

    @pytest.mark.parametrize("field", ["name", "slug"])
    def test_null_on_what_is_required_is_refused(self, api: Api, ada: Person, field: str) -> None:
        answer = api.patch(found(api, ada).path, as_=ada, json={field: None})
        assert answer.code == "422 validation_failed"
        assert set(answer.faults) == {f"/{field}"}

    def test_nothing_sent_changes_nothing(self, api: Api, ada: Person) -> None:
        organization = found(api, ada)
        before = api.get(organization.path, as_=ada)
        for body in ({}, {"name": organization.record["name"]}, {"companyName": None}, organization.record):
            answer = api.patch(organization.path, as_=ada, json=body)
            assert (answer.status, answer.json, answer.etag) == (200, before.json, before.etag)
        assert api.patch(organization.path, as_=ada).json == before.json
        assert [entry["type"] for entry in log_of(api, organization)] == ["organization.created"]

    def test_nothing_sent_takes_no_transaction_and_wakes_nobody(self, api: Api, ada: Person) -> None:
        answer = api.patch(found(api, ada).path, as_=ada, json={})
        assert answer.calls.names == ["dynamodb:BatchGetItem"]

    @pytest.mark.parametrize(
        ("field", "value"),
        [
            ("id", "x"),
            ("version", 9),
            ("ownerId", "x"),
            ("createdAt", None),
            ("updatedAt", "2026-01-01"),
            ("deletionDueAt", "2030-01-01T00:00:00.000Z"),
            ("version", "1"),
            ("version", 1.5),
            ("version", True),
        ],
    )
    def test_what_the_service_sets_is_read_only(self, api: Api, ada: Person, field: str, value: object) -> None:
        organization = found(api, ada)
        answer = api.patch(organization.path, as_=ada, json={"name": "New", field: value})
        assert answer.code == "422 validation_failed"
        assert answer.faults == {f"/{field}": "read_only"}
        assert api.get(organization.path, as_=ada).json == organization.record

    def test_what_the_service_sets_may_be_repeated(self, api: Api, ada: Person) -> None:
        organization = found(api, ada)
        changed = api.patch(organization.path, as_=ada, json={**organization.record, "name": "New"})
        assert (changed.status, changed.json["name"], changed.json["version"]) == (200, "New", 2)

    def test_unknown_fields_are_refused_even_when_null(self, api: Api, ada: Person) -> None:
        answer = api.patch(found(api, ada).path, as_=ada, json={"nickname": None, "colour": "red"})
        assert answer.faults == {"/nickname": "unknown_field", "/colour": "unknown_field"}

    def test_all_faults_are_told_at_once(self, api: Api, ada: Person) -> None:
        body = {"id": "x", "nickname": 1, "name": "", "companyCountry": "XX"}
        answer = api.patch(found(api, ada).path, as_=ada, json=body)
        assert set(answer.faults) == {"/id", "/nickname", "/name", "/companyCountry"}

    @pytest.mark.parametrize("body", [b"[]", b'"x"', b"null", b"7", b"true"])
    def test_what_is_no_object_is_refused(self, api: Api, ada: Person, body: bytes) -> None:
        answer = api.patch(found(api, ada).path, as_=ada, body=body, headers=MERGE_PATCH)
        assert answer.code == "422 validation_failed"

    @pytest.mark.parametrize(
        "kind", ["application/json", "application/merge-patch+json", "application/merge-patch+json; charset=utf-8"]
    )
    def test_both_content_types_are_accepted(self, api: Api, ada: Person, kind: str) -> None:
        answer = api.patch(found(api, ada).path, as_=ada, body=b'{"name": "New"}', headers={"Content-Type": kind})
        assert answer.json["name"] == "New"

    @pytest.mark.parametrize(
        "kind", ["text/plain", "application/json-patch+json", "application/xml", "multipart/form-data", "x"]
    )
    def test_others_are_not(self, api: Api, ada: Person, kind: str) -> None:
        answer = api.patch(found(api, ada).path, as_=ada, body=b'{"name": "New"}', headers={"Content-Type": kind})
        assert answer.code == "415 unsupported_media_type"

    def test_a_member_named_twice_takes_the_last(self, api: Api, ada: Person) -> None:
        answer = api.patch(found(api, ada).path, as_=ada, body=b'{"name": "A", "name": "B"}', headers=MERGE_PATCH)
        assert answer.json["name"] == "B"


class TestVersions:
    def test_each_change_adds_one_and_moves_time_on_although_the_clock_stands_still(
        self, api: Api, ada: Person, clock: Clock
    ) -> None:
        clock.freeze()
        organization = found(api, ada)
        records = [api.patch(organization.path, as_=ada, json={"name": f"Name {n}"}).json for n in range(3)]
        assert [record["version"] for record in records] == [2, 3, 4]
        moments = [organization.record["updatedAt"], *(record["updatedAt"] for record in records)]
        assert moments == sorted(set(moments))

    def test_a_clock_that_went_back_does_not_turn_a_records_history_around(
        self, api: Api, ada: Person, clock: Clock
    ) -> None:
        organization = found(api, ada)
        clock.shift(seconds=-30)
        changed = api.patch(organization.path, as_=ada, json={"name": "Later"}).json
        assert changed["updatedAt"] > organization.record["updatedAt"]
        assert [(e["type"], e["occurredAt"]) for e in log_of(api, organization)] == [
            ("organization.updated", changed["updatedAt"]),
            ("organization.created", organization.record["createdAt"]),
        ]


class TestStatus:
    def test_deleting_by_status_is_refused(self, api: Api, ada: Person) -> None:
        answer = api.patch(found(api, ada).path, as_=ada, json={"status": "pending_deletion"})
        assert answer.code == "422 validation_failed"
        assert set(answer.faults) == {"/status"}

    def test_active_on_an_active_one_changes_nothing(self, api: Api, ada: Person) -> None:
        organization = found(api, ada)
        answer: Answer = api.patch(organization.path, as_=ada, json={"status": "active"})
        assert (answer.status, answer.json) == (200, organization.record)

    def test_null_is_its_default(self, api: Api, ada: Person) -> None:
        organization = found(api, ada)
        assert api.patch(organization.path, as_=ada, json={"status": None}).json == organization.record
