"""Organizations: creating, listing, finding and updating them."""

import re

import pytest

from tests.harness.audit_logs import list_entries
from tests.harness.organizations import add_organization_member, create_api_key, create_organization

ALL_FIELDS = {
    "name": "Analytical Engines",
    "slug": "engines",
    "companyName": "Analytical Engines",
    "companyLegalName": "Analytical Engines Ltd.",
    "companyId": "01234567",
    "companyCountry": "GB",
    "companyAddress": "12 St James's Square\nLondon",
    "legalEmail": "legal@example.com",
    "supportEmail": "support@example.com",
}
UUID_7 = r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
INVISIBLE_NAMES = ["", "   ", "\u200b", "\u00ad \u200d", "\u3164\ufe0f", "\u2800", "\U000e0020"]
VISIBLE_NAMES = [f"{each}a{each}" for each in INVISIBLE_NAMES]
LONGEST_NAMES = ["x" * 200, "  " + "x" * 200 + "  ", "é" * 200, "🚂" * 200]
VALID_VALUES = {
    "name": [*LONGEST_NAMES, "a", "  Engines\t", "<b>alert('\"1\"')</b> & Söhne", *VISIBLE_NAMES],
    "companyName": VISIBLE_NAMES,
    "slug": ["a", "0", "a-b", "x" * 63, "1-2-3", " engines\n"],
    "companyCountry": ["DE", "GB", "CW", "SS", "ZW", "AX"],
    "companyAddress": ["12 St James's Square\n\tLondon\r\n" + "x" * 3900, "x" * 4000],
    "supportEmail": ["Help@Example.COM "],
}
INVALID_VALUES = {
    "name": ["x" * 201, "a\x00b", "a\nb", "a\x1bb", "a\u2028b", 7, True, ["a"], {"a": 1}],
    "slug": ["", "A", "a--b", "-a", "a-", "x" * 64, "a_b", "a.b", "a b", "ä", "a/b", 1, "%61", "api", "by-slug"],
    "companyCountry": ["XX", "UK", "de", "DEU", "", "276", "AN", "EU", "D"],
    "companyAddress": ["x" * 4001, "a\x00b"],
    "legalEmail": ["", "ada", "ada@", "@example.com", "a b@example.com", "ada@example", "a@@b.de", "a@b..de"],
}
UNKNOWN_ID = "01939d3c-0000-7000-8000-00000000000a"
MALFORMED_IDS = ["x", "1", "null", "%20", "..", "%2e%2e", "%00", "a" * 300, "%F0%9F%9A%82", UNKNOWN_ID + "0"]
BY_SLUG = "/organizations/by-slug"
NOT_FOUND, SLUG_TAKEN = "404 not_found", "409 slug_taken"


@pytest.fixture
def patch(api, organization):
    return lambda json=None, **options: api.patch(organization.path, caller=organization.owner, json=json, **options)


class TestCreateOrganization:
    def test_every_field_is_accepted_and_returned(self, api, ada):
        answer = api.post("/organizations", caller=ada, json=ALL_FIELDS)
        record = answer.json
        assert record | ALL_FIELDS | {"status": "active", "ownerId": ada.id} == record
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", record["createdAt"])
        assert re.fullmatch(UUID_7, record["id"])
        assert record["id"] < create_organization(api, ada).id
        fetched = api.get(answer.location, caller=ada)
        assert (fetched.text, fetched.etag) == (answer.text, answer.etag)
        (owner,) = api.get_items(f"{answer.location}/members", caller=ada)
        assert (owner["userId"], owner["role"], owner["email"]) == (ada.id, "owner", "ada@example.com")

    @pytest.mark.parametrize(("field", "values"), VALID_VALUES.items())
    def test_valid_values_are_stored_without_spaces_around_them(self, api, ada, field, values):
        for value in values:
            expected = value.strip().lower() if field.endswith("Email") else value.strip()
            assert create_organization(api, ada, **{field: value}).record[field] == expected

    @pytest.mark.parametrize(("field", "values"), INVALID_VALUES.items())
    def test_an_invalid_value_is_rejected_and_nothing_is_stored(self, api, ada, field, values):
        for value in values:
            answer = api.post("/organizations", caller=ada, json={"name": "Engines", field: value})
            assert [*answer.validation_errors] == [f"/{field}"], value
        assert api.get_items("/organizations", caller=ada) == []

    @pytest.mark.parametrize("field", ["name", "companyName", "companyLegalName", "companyId"])
    def test_names_need_a_visible_character(self, api, ada, field):
        for value in INVISIBLE_NAMES:
            answer = api.post("/organizations", caller=ada, json={"name": "Engines", field: value})
            assert answer.validation_errors == {f"/{field}": "too_short"}, value

    def test_all_errors_are_reported_together_each_with_its_pointer(self, api, ada, patch):
        body = {"name": "", "slug": "A--b", "companyCountry": "XX", "legalEmail": "x", "nickname": 1, "a/b~c": 2}
        errors = api.post("/organizations", caller=ada, json=body | {"company_name": "x"}).validation_errors
        unknown = {"/nickname", "/a~1b~0c", "/company_name"}
        assert set(errors) == {"/name", "/slug", "/companyCountry", "/legalEmail", *unknown}
        assert {errors[pointer] for pointer in unknown} == {"unknown_field"}
        assert api.post("/organizations", caller=ada, json={}).errors == {"/name": "required"}
        errors = patch({"id": "x", "colour": None, "name": None, "slug": None, "companyCountry": "XX"}).errors
        assert set(errors) == {"/id", "/colour", "/name", "/slug", "/companyCountry"}
        assert errors["/colour"] == "unknown_field"


class TestDerivedSlugs:
    @pytest.mark.parametrize(
        ("name", "slug"),
        [
            ("Größe & Co", "grosse-co"),
            ("  Ünïcödé -- Ltd. ", "unicode-ltd"),
            ("ACME", "acme"),
            ("a", "a"),
            ("Ĳssel ﬁne", "ijssel-fine"),
            ("x" * 200, "x" * 63),
            ("Admin", "admin-[0-9a-f]{8}"),
            *[(name, r"[a-z0-9]+(-[a-z0-9]+)*") for name in ("株式会社", "!!!", "🚂")],
        ],
    )
    def test_an_absent_slug_is_derived_from_the_name(self, api, ada, name, slug):
        assert re.fullmatch(slug, create_organization(api, ada, name=name).record["slug"])

    def test_a_derived_slug_that_is_taken_gets_a_random_suffix(self, api, ada):
        first, second, third = (create_organization(api, ada, name="Engines").record["slug"] for _ in range(3))
        assert first == "engines"
        assert all(re.fullmatch(r"engines-[a-z0-9]{4,}", slug) for slug in (second, third))
        assert second != third
        long_slugs = {create_organization(api, ada, name="x" * 200).record["slug"] for _ in range(2)}
        assert (len(long_slugs), max(map(len, long_slugs))) == (2, 63)


class TestListOrganizations:
    def test_the_callers_organizations_are_listed_in_order_of_creation(self, api, ada, mary, edith, stranger, operator):
        first, second, third = (create_organization(api, ada, name=name) for name in ("Zeta", "Alpha", "Mu"))
        add_organization_member(second, mary, "member")
        create_organization(api, stranger)
        assert [o["id"] for o in api.get_items("/organizations", caller=ada)] == [first.id, second.id, third.id]
        for caller in (mary, create_api_key(api, second, "organizations:read")):
            assert api.get_items("/organizations", caller=caller) == [second.record | {"role": "member"}]
        assert api.get_items("/organizations", caller=operator) == []
        empty = api.get("/organizations", caller=edith)
        assert (empty.json, "Link" in empty.headers) == ({"items": [], "nextCursor": None}, False)

    def test_a_page_is_full_although_an_organization_was_deleted(self, api, ada):
        ids = [create_organization(api, ada).id for _ in range(7)]
        api.delete(f"/organizations/{ids[2]}", caller=ada)
        pages = api.get_pages("/organizations", caller=ada, query={"limit": 2})
        assert [o["id"] for page in pages for o in page["items"]] == [*ids[:2], *ids[3:]]
        assert [len(page["items"]) for page in pages[:3]] == [2, 2, 2]


def test_members_read_an_organization_in_any_spelling_of_its_path_except_a_malformed_one(api, organization, mary):
    for path in (organization.path, f"/organizations/{organization.id.upper()}", f"{organization.path}/"):
        assert api.get(path, caller=mary).json == organization.record
    slugs = ["Engines", "a--b", "-", "%20", "a" * 64]
    for path in (*(f"/organizations/{name}" for name in MALFORMED_IDS), *(f"{BY_SLUG}/{slug}" for slug in slugs)):
        assert api.get(path, caller=mary).status_and_code == NOT_FOUND, path


def test_only_members_and_keys_find_the_organization_by_its_slug(api, ada, stranger):
    organization, _ = create_organization(api, ada, slug="engines"), create_organization(api, ada, slug="other")
    by_slug, by_id = api.get(f"{BY_SLUG}/engines", caller=ada), api.get(organization.path, caller=ada)
    assert (by_slug.status, by_slug.json, by_slug.etag) == (200, by_id.json, by_id.etag)
    key = create_api_key(api, organization, "read")
    assert api.get(f"{BY_SLUG}/engines", caller=key).status == 200
    assert api.get(f"{BY_SLUG}/other", caller=key).status_and_code == NOT_FOUND
    foreign, missing = (api.get(f"{BY_SLUG}/{slug}", caller=stranger) for slug in ("engines", "nothing"))
    assert foreign.status_and_code == missing.status_and_code == NOT_FOUND
    assert foreign.json["detail"] == missing.json["detail"]


def test_former_slugs_redirect_members_to_the_current_one_and_are_reserved_for_90_days(api, ada, stranger, clock):
    organization, taken = create_organization(api, ada, slug="first"), {"name": "Mine", "slug": "first"}
    for slug in ("second", "third"):
        api.patch(organization.path, caller=ada, json={"slug": slug})
    for slug in ("first", "second", "f%69rst"):
        answer = api.get(f"{BY_SLUG}/{slug}", caller=ada)
        assert (answer.status, answer.headers["Location"]) == (301, "/api/organizations/by-slug/third")
    assert api.get(answer.location, caller=ada).json["id"] == organization.id
    assert api.get(f"{BY_SLUG}/first", caller=stranger).status_and_code == NOT_FOUND
    assert create_organization(api, stranger, name="First").record["slug"].startswith("first-")
    clock.shift(days=90, minutes=-1)
    assert api.get(f"{BY_SLUG}/first", caller=ada).status == 301
    assert api.post("/organizations", caller=stranger, json=taken).status_and_code == SLUG_TAKEN
    clock.shift(minutes=2)
    assert api.get(f"{BY_SLUG}/first", caller=ada).status_and_code == NOT_FOUND
    assert api.get(f"{BY_SLUG}/third", caller=ada).status == 200
    assert api.post("/organizations", caller=stranger, json=taken).status == 201
    statuses = {person: api.get(f"{BY_SLUG}/first", caller=person).status for person in (ada, stranger)}
    assert statuses == {ada: 404, stranger: 200}


def test_a_former_slug_that_was_taken_back_is_reserved(api, ada, stranger, clock):
    organization = create_organization(api, ada, slug="first")
    for slug in ("second", "first"):
        assert api.patch(organization.path, caller=ada, json={"slug": slug}).json["slug"] == slug
    assert api.get(f"{BY_SLUG}/second", caller=ada).location == f"{BY_SLUG}/first"
    clock.shift(days=91)
    body = {"name": "x", "slug": "first"}
    assert api.post("/organizations", caller=stranger, json=body).status_and_code == SLUG_TAKEN
    assert api.get(f"{BY_SLUG}/first", caller=ada).status == 200


class TestUpdateOrganization:
    def test_only_given_fields_change_of_which_null_clears_the_optional_ones(self, api, ada):
        organization = create_organization(api, ada, companyName="A", companyCountry="GB", legalEmail="a@example.com")
        answer = api.patch(organization.path, caller=ada, json={"companyName": "New"})
        changes = {"companyName": "New", "version": 2, "updatedAt": answer.json["updatedAt"]}
        assert (answer.status, answer.json) == (200, organization.record | changes)
        assert api.get(organization.path, caller=ada).json == answer.json
        nulls = {"companyName": None, "companyCountry": None, "legalEmail": None}
        record = api.patch(organization.path, caller=ada, json=nulls).json
        assert record | nulls == record
        fields = {**ALL_FIELDS, "name": "Other", "companyCountry": "FR", "legalEmail": "L@example.com"}
        record = api.patch(organization.path, caller=ada, json=fields).json
        assert record | fields | {"legalEmail": "l@example.com"} == record

    def test_a_taken_slug_changes_nothing_and_its_own_slug_is_no_conflict(self, api, organization, stranger, patch):
        create_organization(api, stranger, slug="taken")
        before = list_entries(api, organization)
        answers = [patch({"name": "New", "slug": "taken"})]
        answers.append(api.post("/organizations", caller=organization.owner, json={"name": "Mine", "slug": "taken"}))
        for answer in answers:
            assert answer.problem_and_pointers == (SLUG_TAKEN, ["/slug"])
        assert api.get_items("/organizations", caller=organization.owner) == [organization.record | {"role": "owner"}]
        assert list_entries(api, organization) == before
        assert patch({"slug": organization.record["slug"], "name": "New"}).status == 200

    def test_a_patch_without_changes_writes_and_enqueues_nothing(self, api, organization, patch):
        before, record = api.get(organization.path, caller=organization.owner), organization.record
        entries = list_entries(api, organization)
        same_values = [{"name": record["name"]}, {"companyName": None}, {"status": "active"}, {"status": None}]
        for body in ({}, record, *same_values):
            answer = patch(body)
            assert (answer.status, answer.json, answer.etag) == (200, before.json, before.etag)
            assert answer.calls.call_names == ["dynamodb:BatchGetItem"]
        assert list_entries(api, organization) == entries
        answer = patch({**record, "name": "New"})
        assert (answer.status, answer.json["name"], answer.json["version"]) == (200, "New", 2)

    def test_computed_fields_and_the_status_are_read_only(self, api, organization, patch):
        values = [*(("version", version) for version in (9, "1", 1.5, True)), ("createdAt", None)]
        for field, value in (*values, ("status", "pending_deletion")):
            assert patch({"name": "New", field: value}).validation_errors == {f"/{field}": "read_only"}
        assert api.get(organization.path, caller=organization.owner).json == organization.record

    def test_the_body_is_json_or_a_merge_patch_and_the_last_of_duplicate_members_applies(self, patch):
        merge_patch = "application/merge-patch+json"
        for media_type in ("application/json", merge_patch, f"{merge_patch}; charset=utf-8"):
            answer = patch(body=b'{"name": "A", "name": "B"}', headers={"Content-Type": media_type})
            assert answer.json["name"] == "B"
        for media_type in ("text/plain", "application/json-patch+json", "application/xml", "multipart/form-data", "x"):
            answer = patch(body=b'{"name": "New"}', headers={"Content-Type": media_type})
            assert answer.status_and_code == "415 unsupported_media_type"

    def test_version_and_timestamps_increase_although_the_clock_stands_still_or_is_set_back(self, api, ada, clock):
        clock.freeze()
        organization = create_organization(api, ada)
        records = [organization.record]
        for shift_seconds in (0, 0, -30):
            clock.shift(seconds=shift_seconds)
            records.append(api.patch(organization.path, caller=ada, json={"name": f"Name {len(records)}"}).json)
        assert [record["version"] for record in records] == [1, 2, 3, 4]
        timestamps = [record["updatedAt"] for record in records]
        assert timestamps == sorted(set(timestamps))
        assert [entry["occurredAt"] for entry in list_entries(api, organization)] == timestamps[::-1]
