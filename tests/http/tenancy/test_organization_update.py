import pytest

from tests.harness.api import ApiResponse
from tests.harness.audit_logs import list_entries
from tests.harness.organizations import create_api_key, create_organization

MERGE_PATCH = {"Content-Type": "application/merge-patch+json"}


class TestUpdateOrganization:
    def test_changes_only_the_given_fields(self, api, ada):
        organization = create_organization(api, ada, companyName="Old", companyCountry="GB")
        answer = api.patch(organization.path, caller=ada, json={"companyName": "New"})
        assert answer.status == 200
        expected_record = {
            **organization.record,
            "companyName": "New",
            "version": 2,
            "updatedAt": answer.json["updatedAt"],
        }
        assert answer.json == expected_record
        assert answer.json["updatedAt"] > organization.record["updatedAt"]
        assert api.get(organization.path, caller=ada).json == expected_record

    def test_all_fields_can_change_at_once(self, api, ada):
        organization = create_organization(api, ada)
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
        record = api.patch(organization.path, caller=ada, json=fields).json
        assert {field: record[field] for field in fields} == {**fields, "legalEmail": "l@example.com"}

    def test_admins_update_and_lower_roles_do_not(self, api, organization, grace, edith, mary, stranger):
        body = {"json": {"name": "New"}}
        assert api.patch(organization.path, caller=grace, **body).status == 200
        for person in (edith, mary):
            assert api.patch(organization.path, caller=person, **body).status_and_code == "403 insufficient_role"
        assert api.patch(organization.path, caller=stranger, **body).status_and_code == "404 not_found"

    def test_requires_the_write_scope_or_admin_of_a_key(self, api, organization):
        for scope, status in (
            ("organizations:write", 200),
            ("admin", 200),
            ("write", 403),
            ("organizations:read", 403),
        ):
            key = create_api_key(api, organization, scope)
            assert api.patch(organization.path, caller=key, json={"name": scope}).status == status

    def test_a_taken_slug_changes_nothing(self, api, ada):
        create_organization(api, ada, slug="taken")
        organization = create_organization(api, ada, slug="mine")
        answer = api.patch(organization.path, caller=ada, json={"name": "New", "slug": "taken"})
        assert answer.status_and_code == "409 slug_taken"
        assert set(answer.errors) == {"/slug"}
        assert api.get(organization.path, caller=ada).json == organization.record
        assert len(list_entries(api, organization)) == 1

    def test_its_own_slug_is_no_conflict(self, api, ada):
        organization = create_organization(api, ada, slug="mine")
        assert api.patch(organization.path, caller=ada, json={"slug": "mine", "name": "New"}).status == 200


class TestMergePatch:
    def test_null_clears_an_optional_field(self, api, ada):
        organization = create_organization(api, ada, companyName="A", companyCountry="GB", legalEmail="a@example.com")
        nulls = {"companyName": None, "companyCountry": None, "legalEmail": None}
        record = api.patch(organization.path, caller=ada, json=nulls).json
        assert {field: record[field] for field in nulls} == nulls

    @pytest.mark.parametrize("field", ["name", "slug"])
    def test_null_is_rejected_for_a_required_field(self, api, ada, field):
        answer = api.patch(create_organization(api, ada).path, caller=ada, json={field: None})
        assert answer.status_and_code == "422 validation_failed"
        assert set(answer.errors) == {f"/{field}"}

    def test_an_empty_patch_changes_nothing(self, api, ada):
        organization = create_organization(api, ada)
        answer_before = api.get(organization.path, caller=ada)
        for body in ({}, {"name": organization.record["name"]}, {"companyName": None}, organization.record):
            answer = api.patch(organization.path, caller=ada, json=body)
            assert (answer.status, answer.json, answer.etag) == (200, answer_before.json, answer_before.etag)
        assert api.patch(organization.path, caller=ada).json == answer_before.json
        assert [entry["type"] for entry in list_entries(api, organization)] == ["organization.created"]

    def test_an_empty_patch_writes_and_enqueues_nothing(self, api, ada):
        answer = api.patch(create_organization(api, ada).path, caller=ada, json={})
        assert answer.calls.call_names == ["dynamodb:BatchGetItem"]

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
    def test_computed_fields_are_read_only(self, api, ada, field, value):
        organization = create_organization(api, ada)
        answer = api.patch(organization.path, caller=ada, json={"name": "New", field: value})
        assert answer.status_and_code == "422 validation_failed"
        assert answer.errors == {f"/{field}": "read_only"}
        assert api.get(organization.path, caller=ada).json == organization.record

    def test_computed_fields_may_be_repeated_unchanged(self, api, ada):
        organization = create_organization(api, ada)
        answer = api.patch(organization.path, caller=ada, json={**organization.record, "name": "New"})
        assert (answer.status, answer.json["name"], answer.json["version"]) == (200, "New", 2)

    def test_unknown_fields_are_rejected_even_when_null(self, api, ada):
        answer = api.patch(create_organization(api, ada).path, caller=ada, json={"nickname": None, "colour": "red"})
        assert answer.errors == {"/nickname": "unknown_field", "/colour": "unknown_field"}

    def test_all_errors_are_reported_at_once(self, api, ada):
        body = {"id": "x", "nickname": 1, "name": "", "companyCountry": "XX"}
        answer = api.patch(create_organization(api, ada).path, caller=ada, json=body)
        assert set(answer.errors) == {"/id", "/nickname", "/name", "/companyCountry"}

    @pytest.mark.parametrize("body", [b"[]", b'"x"', b"null", b"7", b"true"])
    def test_a_body_other_than_an_object_is_rejected(self, api, ada, body):
        answer = api.patch(create_organization(api, ada).path, caller=ada, body=body, headers=MERGE_PATCH)
        assert answer.status_and_code == "422 validation_failed"

    @pytest.mark.parametrize(
        "content_type",
        ["application/json", "application/merge-patch+json", "application/merge-patch+json; charset=utf-8"],
    )
    def test_both_content_types_are_accepted(self, api, ada, content_type):
        answer = api.patch(
            create_organization(api, ada).path,
            caller=ada,
            body=b'{"name": "New"}',
            headers={"Content-Type": content_type},
        )
        assert answer.json["name"] == "New"

    @pytest.mark.parametrize(
        "content_type", ["text/plain", "application/json-patch+json", "application/xml", "multipart/form-data", "x"]
    )
    def test_other_content_types_are_rejected(self, api, ada, content_type):
        answer = api.patch(
            create_organization(api, ada).path,
            caller=ada,
            body=b'{"name": "New"}',
            headers={"Content-Type": content_type},
        )
        assert answer.status_and_code == "415 unsupported_media_type"

    def test_the_last_of_duplicate_members_applies(self, api, ada):
        answer = api.patch(
            create_organization(api, ada).path, caller=ada, body=b'{"name": "A", "name": "B"}', headers=MERGE_PATCH
        )
        assert answer.json["name"] == "B"


class TestVersions:
    def test_version_and_timestamp_increase_although_the_clock_stands_still(self, api, ada, clock):
        clock.freeze()
        organization = create_organization(api, ada)
        records = [api.patch(organization.path, caller=ada, json={"name": f"Name {n}"}).json for n in range(3)]
        assert [record["version"] for record in records] == [2, 3, 4]
        timestamps = [organization.record["updatedAt"], *(record["updatedAt"] for record in records)]
        assert timestamps == sorted(set(timestamps))

    def test_timestamps_increase_although_the_clock_was_set_back(self, api, ada, clock):
        organization = create_organization(api, ada)
        clock.shift(seconds=-30)
        updated_organization = api.patch(organization.path, caller=ada, json={"name": "Later"}).json
        assert updated_organization["updatedAt"] > organization.record["updatedAt"]
        assert [(entry["type"], entry["occurredAt"]) for entry in list_entries(api, organization)] == [
            ("organization.updated", updated_organization["updatedAt"]),
            ("organization.created", organization.record["createdAt"]),
        ]


class TestStatus:
    def test_deletion_by_status_is_rejected(self, api, ada):
        answer = api.patch(create_organization(api, ada).path, caller=ada, json={"status": "pending_deletion"})
        assert answer.status_and_code == "422 validation_failed"
        assert set(answer.errors) == {"/status"}

    def test_active_changes_nothing_in_an_active_organization(self, api, ada):
        organization = create_organization(api, ada)
        answer: ApiResponse = api.patch(organization.path, caller=ada, json={"status": "active"})
        assert (answer.status, answer.json) == (200, organization.record)

    def test_null_means_the_default(self, api, ada):
        organization = create_organization(api, ada)
        assert api.patch(organization.path, caller=ada, json={"status": None}).json == organization.record
