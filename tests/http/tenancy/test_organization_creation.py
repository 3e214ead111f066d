import re

import pytest

from chalicelib.kernel.http.fields import RESERVED_SLUGS
from tests.harness.organizations import create_organization

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
NAMES = ["x" * 200, "  " + "x" * 200 + "  ", "é" * 200, "🚂" * 200, "a", "  Engines\t", "<b>alert('\"1\"')</b> & Söhne"]
INVALID_NAMES = ["", "   ", "x" * 201, "a\x00b", "a\nb", "a\x1bb", "a\u2028b", 7, True, ["a"], {"a": 1}]
INVISIBLE_NAMES = ["", "   ", "\u200b", "\u00ad \u200d", "\u3164\ufe0f", "\u2800", "\U000e0020"]
VALID_SLUGS = ["a", "0", "a-b", "x" * 63, "1-2-3", " engines\n"]
INVALID_SLUGS = ["", "A", "a--b", "-a", "a-", "x" * 64, "a_b", "a.b", "a b", "ä", "a/b", 1, "%61"]
RESERVED = ["api", "www", "admin", "app", "docs", "status", "by-slug", "invitations", "resolve"]
COUNTRIES = ["DE", "GB", "CW", "SS", "ZW", "AX"]
INVALID_COUNTRIES = ["XX", "UK", "de", "DEU", "", "276", "AN", "EU", "D"]
INVALID_EMAILS = ["", "ada", "ada@", "@example.com", "a b@example.com", "ada@example", "a@@b.de", "a@b..de"]
LONG_TEXT = "12 St James's Square\n\tLondon\r\n" + "x" * 3900


def test_every_field_is_accepted_and_returned(api, ada):
    answer = api.post("/organizations", caller=ada, json=ALL_FIELDS)
    record = answer.json
    assert {name: record[name] for name in ALL_FIELDS} == ALL_FIELDS
    assert (record["status"], record["ownerId"], record["deletionDueAt"]) == ("active", ada.id, None)
    assert (record["version"], record["createdAt"]) == (1, record["updatedAt"])
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", record["createdAt"])
    assert (answer.status, answer.headers["Location"]) == (201, f"/api/organizations/{record['id']}")
    fetched = api.get(answer.location, caller=ada)
    assert (fetched.json, fetched.etag) == (record, answer.etag)
    (owner,) = api.get_items(f"{answer.location}/members", caller=ada)
    assert (owner["userId"], owner["role"], owner["email"]) == (ada.id, "owner", "ada@example.com")
    assert re.fullmatch(UUID_7, record["id"])
    assert record["id"] < create_organization(api, ada).id


@pytest.mark.parametrize("nulls", [{}, dict.fromkeys(ALL_FIELDS)])
def test_a_name_suffices_and_absent_fields_are_null(api, ada, nulls):
    record = api.post("/organizations", caller=ada, json={**nulls, "name": "Engines"}).json
    assert record["slug"] == "engines"
    assert {record[name] for name in ALL_FIELDS.keys() - {"name", "slug"}} == {None}


@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("name", NAMES),
        ("slug", VALID_SLUGS),
        ("companyCountry", COUNTRIES),
        ("companyAddress", [LONG_TEXT, "x" * 4000]),
        ("supportEmail", ["Help@Example.COM "]),
        *[(field, [f"{each}a{each}" for each in INVISIBLE_NAMES]) for field in ("name", "companyName")],
    ],
)
def test_valid_values_are_stored_without_spaces_around_them(api, ada, field, values):
    for value in values:
        expected = value.strip().lower() if field.endswith("Email") else value.strip()
        assert create_organization(api, ada, **{field: value}).record[field] == expected


@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("name", INVALID_NAMES),
        ("slug", [*INVALID_SLUGS, *RESERVED]),
        ("companyCountry", INVALID_COUNTRIES),
        ("companyAddress", ["x" * 4001, "a\x00b"]),
        ("legalEmail", INVALID_EMAILS),
    ],
)
def test_an_invalid_value_is_rejected_and_nothing_is_stored(api, ada, field, values):
    for value in values:
        answer = api.post("/organizations", caller=ada, json={"name": "Engines", field: value})
        assert (answer.status_and_code, [*answer.errors]) == ("422 validation_failed", [f"/{field}"]), value
    assert api.get_items("/organizations", caller=ada) == []


@pytest.mark.parametrize("field", ["name", "companyName", "companyLegalName", "companyId"])
def test_names_need_a_visible_character(api, ada, field):
    for value in INVISIBLE_NAMES:
        answer = api.post("/organizations", caller=ada, json={"name": "Engines", field: value})
        assert (answer.status_and_code, answer.errors) == ("422 validation_failed", {f"/{field}": "too_short"}), value


def test_a_missing_name_is_required_and_a_lone_surrogate_is_rejected(api, ada):
    for body in ({}, {"name": None}, None):
        assert api.post("/organizations", caller=ada, json=body).errors == {"/name": "required"}
    headers = {"Content-Type": "application/json"}
    assert api.post("/organizations", caller=ada, body=b'{"name": "\\ud800"}', headers=headers).status in (400, 422)


def test_all_errors_are_reported_together_each_with_its_pointer(api, ada):
    body = {"name": "", "slug": "A--b", "companyCountry": "XX", "legalEmail": "x", "nickname": 1, "a/b~c": 2}
    answer = api.post("/organizations", caller=ada, json=body | {"company_name": "x"})
    assert answer.status_and_code == "422 validation_failed"
    unknown = {"/nickname", "/a~1b~0c", "/company_name"}
    assert set(answer.errors) == {"/name", "/slug", "/companyCountry", "/legalEmail", *unknown}
    assert {answer.errors[pointer] for pointer in unknown} == {"unknown_field"}


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
        ],
    )
    def test_an_absent_slug_is_derived_from_the_name(self, api, ada, name, slug):
        assert re.fullmatch(slug, create_organization(api, ada, name=name).record["slug"])

    def test_a_name_without_a_usable_slug_gets_a_random_slug(self, api, ada):
        for name in ("株式会社", "!!!", "🚂", "Admin", "API", "invitations", "by slug"):
            slug = create_organization(api, ada, name=name).record["slug"]
            assert re.fullmatch(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?", slug), name
            assert "--" not in slug
            assert slug not in RESERVED_SLUGS

    def test_a_derived_slug_that_is_taken_gets_a_random_suffix(self, api, ada):
        first, second, third = (create_organization(api, ada, name="Engines").record["slug"] for _ in range(3))
        assert first == "engines"
        assert all(re.fullmatch(r"engines-[a-z0-9]{4,}", slug) for slug in (second, third))
        assert second != third
        long_slugs = {create_organization(api, ada, name="x" * 200).record["slug"] for _ in range(2)}
        assert (len(long_slugs), max(map(len, long_slugs))) == (2, 63)


def test_the_slug_of_another_organization_is_taken(api, ada, stranger):
    create_organization(api, ada, slug="engines")
    answer = api.post("/organizations", caller=stranger, json={"name": "Mine", "slug": "engines"})
    assert (answer.status_and_code, [*answer.errors]) == ("409 slug_taken", ["/slug"])
    assert api.get_items("/organizations", caller=stranger) == []
