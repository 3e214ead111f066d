import pytest

from tests.harness.audit_logs import list_entries
from tests.harness.organizations import create_organization

MERGE_PATCH = {"Content-Type": "application/merge-patch+json"}


@pytest.fixture
def patch(api, organization):
    """A function that updates the organization as its owner."""
    return lambda json=None, **options: api.patch(organization.path, caller=organization.owner, json=json, **options)


def test_changes_only_the_given_fields_of_which_null_clears_the_optional_ones(api, ada):
    organization = create_organization(api, ada, companyName="A", companyCountry="GB", legalEmail="a@example.com")
    answer = api.patch(organization.path, caller=ada, json={"companyName": "New"})
    changes = {"companyName": "New", "version": 2, "updatedAt": answer.json["updatedAt"]}
    assert (answer.status, answer.json) == (200, organization.record | changes)
    assert answer.json["updatedAt"] > organization.record["updatedAt"]
    assert api.get(organization.path, caller=ada).json == answer.json
    nulls = {"companyName": None, "companyCountry": None, "legalEmail": None}
    record = api.patch(organization.path, caller=ada, json=nulls).json
    assert {field: record[field] for field in nulls} == nulls


def test_all_fields_can_change_at_once(patch):
    names = {"name": "Engines", "slug": "difference", "companyName": "D", "companyLegalName": "D Ltd."}
    addresses = {"companyAddress": "Paris", "legalEmail": "L@example.com", "supportEmail": "s@example.com"}
    fields = {**names, **addresses, "companyId": "7", "companyCountry": "FR"}
    record = patch(fields).json
    assert {field: record[field] for field in fields} == {**fields, "legalEmail": "l@example.com"}


def test_a_taken_slug_changes_nothing_and_its_own_slug_is_no_conflict(api, organization, ada, patch):
    create_organization(api, ada, slug="taken")
    before = list_entries(api, organization)
    answer = patch({"name": "New", "slug": "taken"})
    assert (answer.status_and_code, [*answer.errors]) == ("409 slug_taken", ["/slug"])
    assert api.get(organization.path, caller=ada).json == organization.record
    assert list_entries(api, organization) == before
    assert patch({"slug": organization.record["slug"], "name": "New"}).status == 200


def test_a_patch_without_changes_writes_and_enqueues_nothing(api, organization, patch):
    before, record = api.get(organization.path, caller=organization.owner), organization.record
    entries = list_entries(api, organization)
    same_values = [{"name": record["name"]}, {"companyName": None}, {"status": "active"}, {"status": None}]
    for body in (None, {}, record, *same_values):
        answer = patch(body)
        assert (answer.status, answer.json, answer.etag) == (200, before.json, before.etag)
        assert answer.calls.call_names == ["dynamodb:BatchGetItem"]
    assert list_entries(api, organization) == entries
    answer = patch({**record, "name": "New"})
    assert (answer.status, answer.json["name"], answer.json["version"]) == (200, "New", 2)


def test_computed_fields_and_the_status_are_read_only(api, organization, patch):
    values = [*(("version", version) for version in (9, "1", 1.5, True)), ("createdAt", None)]
    for field, value in (*values, ("status", "pending_deletion")):
        answer = patch({"name": "New", field: value})
        assert (answer.status_and_code, answer.errors) == ("422 validation_failed", {f"/{field}": "read_only"})
    assert api.get(organization.path, caller=organization.owner).json == organization.record


def test_all_errors_are_reported_at_once_even_those_of_unknown_fields_with_null(patch):
    answer = patch({"id": "x", "nickname": 1, "colour": None, "name": None, "slug": None, "companyCountry": "XX"})
    assert set(answer.errors) == {"/id", "/nickname", "/colour", "/name", "/slug", "/companyCountry"}
    assert answer.errors["/nickname"] == answer.errors["/colour"] == "unknown_field"


def test_a_body_other_than_an_object_is_rejected(patch):
    for body in (b"[]", b'"x"', b"null", b"7", b"true"):
        assert patch(body=body, headers=MERGE_PATCH).status_and_code == "422 validation_failed"


def test_the_body_is_json_or_a_merge_patch_and_the_last_of_duplicate_members_applies(patch):
    media_types = ["application/json", *MERGE_PATCH.values(), "application/merge-patch+json; charset=utf-8"]
    for media_type in media_types:
        answer = patch(body=b'{"name": "A", "name": "B"}', headers={"Content-Type": media_type})
        assert answer.json["name"] == "B"
    for media_type in ("text/plain", "application/json-patch+json", "application/xml", "multipart/form-data", "x"):
        answer = patch(body=b'{"name": "New"}', headers={"Content-Type": media_type})
        assert answer.status_and_code == "415 unsupported_media_type"


def test_version_and_timestamp_increase_although_the_clock_stands_still(api, ada, clock):
    clock.freeze()
    organization = create_organization(api, ada)
    records = [api.patch(organization.path, caller=ada, json={"name": f"Name {n}"}).json for n in range(3)]
    assert [record["version"] for record in records] == [2, 3, 4]
    timestamps = [organization.record["updatedAt"], *(record["updatedAt"] for record in records)]
    assert timestamps == sorted(set(timestamps))


def test_timestamps_increase_although_the_clock_was_set_back(api, ada, clock):
    organization = create_organization(api, ada)
    clock.shift(seconds=-30)
    updated = api.patch(organization.path, caller=ada, json={"name": "Later"}).json
    assert updated["updatedAt"] > organization.record["updatedAt"]
    assert [(entry["type"], entry["occurredAt"]) for entry in list_entries(api, organization)] == [
        ("organization.updated", updated["updatedAt"]),
        ("organization.created", organization.record["createdAt"]),
    ]
