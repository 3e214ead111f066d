import re

import pytest

from chalicelib.kernel.http.fields import RESERVED_SLUGS
from tests.harness.organizations import create_api_key, create_organization

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


class TestCreateOrganization:
    def test_every_field_is_accepted_and_returned(self, api, ada):
        response = api.post("/organizations", caller=ada, json=ALL_FIELDS)
        assert response.status == 201
        record = response.json
        assert {name: record[name] for name in ALL_FIELDS} == ALL_FIELDS
        assert (record["status"], record["ownerId"], record["deletionDueAt"]) == ("active", ada.id, None)
        assert (record["version"], record["createdAt"]) == (1, record["updatedAt"])

    def test_a_name_suffices_and_absent_fields_are_null(self, api, ada):
        record = api.post("/organizations", caller=ada, json={"name": "Engines"}).json
        optional = set(ALL_FIELDS) - {"name", "slug"}
        assert {record[name] for name in optional} == {None}

    def test_null_means_absent(self, api, ada):
        body = dict.fromkeys(ALL_FIELDS) | {"name": "Engines"}
        record = api.post("/organizations", caller=ada, json=body).json
        assert (record["slug"], record["companyCountry"]) == ("engines", None)

    def test_ids_are_uuids_of_version_7_in_lower_case(self, api, ada):
        first, second = (create_organization(api, ada).id for _ in range(2))
        assert all(
            re.fullmatch(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", i)
            for i in (first, second)
        )
        assert first < second

    def test_times_are_utc_with_milliseconds(self, api, ada):
        assert re.fullmatch(
            r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", create_organization(api, ada).record["createdAt"]
        )

    def test_location_is_the_path_of_the_new_record_with_the_same_etag(self, api, ada):
        created = api.post("/organizations", caller=ada, json={"name": "Engines"})
        assert created.headers["Location"] == f"/api/organizations/{created.json['id']}"
        fetched = api.get(created.location, caller=ada)
        assert (fetched.status, fetched.json, fetched.etag) == (200, created.json, created.etag)

    def test_the_creator_is_its_owner_and_only_member(self, api, ada):
        organization = create_organization(api, ada)
        members = api.get_items(f"{organization.path}/members", caller=ada)
        assert [(m["userId"], m["role"], m["username"], m["email"]) for m in members] == [
            (ada.id, "owner", "ada", "ada@example.com")
        ]

    def test_only_users_create_organizations(self, api, organization):
        key = create_api_key(api, organization, "admin")
        assert api.post("/organizations", caller=key, json={"name": "Engines"}).status_and_code == "403 forbidden"
        assert api.post("/organizations", json={"name": "Engines"}).status_and_code == "401 unauthenticated"


class TestNames:
    def test_names_are_trimmed(self, api, ada):
        assert create_organization(api, ada, name="  Analytical Engines\t").record["name"] == "Analytical Engines"

    @pytest.mark.parametrize("name", ["x" * 200, "  " + "x" * 200 + "  ", "é" * 200, "🚂" * 200, "a"])
    def test_up_to_200_characters_are_accepted(self, api, ada, name):
        assert create_organization(api, ada, name=name).record["name"] == name.strip()

    @pytest.mark.parametrize(
        "name", ["", "   ", "x" * 201, "a\x00b", "a\nb", "a\x1bb", "a\u2028b", 7, True, ["a"], {"a": 1}]
    )
    def test_invalid_names_are_rejected(self, api, ada, name):
        response = api.post("/organizations", caller=ada, json={"name": name})
        assert response.status_and_code == "422 validation_failed"
        assert set(response.errors) == {"/name"}

    @pytest.mark.parametrize("field", ["name", "companyName", "companyLegalName", "companyId"])
    @pytest.mark.parametrize("name", ["", "   ", "\u200b", "\u00ad \u200d", "\u3164\ufe0f", "\u2800", "\U000e0020"])
    def test_names_need_a_visible_character(self, api, ada, field, name):
        response = api.post("/organizations", caller=ada, json={"name": "Engines", field: name})
        assert (response.status_and_code, response.errors) == ("422 validation_failed", {f"/{field}": "too_short"})
        assert create_organization(api, ada, name=f"{name}a{name}").record["name"] == f"{name}a{name}".strip()

    def test_a_missing_or_null_name_is_rejected(self, api, ada):
        assert api.post("/organizations", caller=ada, json={}).errors == {"/name": "required"}
        assert api.post("/organizations", caller=ada, json={"name": None}).errors == {"/name": "required"}

    def test_a_missing_body_counts_as_an_empty_object(self, api, ada):
        assert api.post("/organizations", caller=ada).errors == {"/name": "required"}

    def test_a_lone_surrogate_is_rejected(self, api, ada):
        response = api.post(
            "/organizations", caller=ada, body=b'{"name": "\\ud800"}', headers={"Content-Type": "application/json"}
        )
        assert response.status in (400, 422)

    def test_html_and_quotes_are_stored_unchanged(self, api, ada):
        name = "<script>alert('\"1\"')</script> & Söhne"
        assert create_organization(api, ada, name=name).record["name"] == name


class TestSlugs:
    @pytest.mark.parametrize(
        ("name", "slug"),
        [
            ("Größe & Co", "grosse-co"),
            ("  Ünïcödé -- Ltd. ", "unicode-ltd"),
            ("ACME", "acme"),
            ("a", "a"),
            ("Ĳssel ﬁne", "ijssel-fine"),
            ("x" * 200, "x" * 63),
        ],
    )
    def test_an_absent_slug_is_derived_from_the_name(self, api, ada, name, slug):
        assert create_organization(api, ada, name=name).record["slug"] == slug

    @pytest.mark.parametrize("name", ["株式会社", "!!!", "🚂", "Admin", "API", "invitations", "by slug"])
    def test_a_name_without_a_usable_slug_gets_a_random_slug(self, api, ada, name):
        slug = create_organization(api, ada, name=name).record["slug"]
        assert re.fullmatch(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?", slug)
        assert "--" not in slug
        assert slug not in RESERVED_SLUGS

    def test_a_reserved_slug_gets_a_random_suffix(self, api, ada):
        assert re.fullmatch("admin-[0-9a-f]{8}", create_organization(api, ada, name="Admin").record["slug"])

    def test_a_derived_slug_that_is_taken_gets_a_random_suffix(self, api, ada):
        first, second, third = (create_organization(api, ada, name="Engines").record["slug"] for _ in range(3))
        assert first == "engines"
        assert re.fullmatch(r"engines-[a-z0-9]{4,}", second)
        assert re.fullmatch(r"engines-[a-z0-9]{4,}", third)
        assert second != third

    def test_a_derived_slug_with_a_suffix_respects_the_maximum_length(self, api, ada):
        slugs = [create_organization(api, ada, name="x" * 200).record["slug"] for _ in range(2)]
        assert max(map(len, slugs)) <= 63
        assert len(set(slugs)) == 2

    @pytest.mark.parametrize("slug", ["a", "0", "a-b", "x" * 63, "1-2-3"])
    def test_well_formed_slugs_are_accepted(self, api, ada, slug):
        assert create_organization(api, ada, slug=slug).record["slug"] == slug

    @pytest.mark.parametrize("slug", ["", "A", "a--b", "-a", "a-", "x" * 64, "a_b", "a.b", "a b", "ä", "a/b", 1, "%61"])
    def test_malformed_slugs_are_rejected(self, api, ada, slug):
        response = api.post("/organizations", caller=ada, json={"name": "Engines", "slug": slug})
        assert response.status_and_code == "422 validation_failed"
        assert set(response.errors) == {"/slug"}

    def test_slugs_are_trimmed(self, api, ada):
        assert create_organization(api, ada, slug=" engines\n").record["slug"] == "engines"

    @pytest.mark.parametrize(
        "slug", ["api", "www", "admin", "app", "docs", "status", "by-slug", "invitations", "resolve"]
    )
    def test_reserved_slugs_are_rejected(self, api, ada, slug):
        response = api.post("/organizations", caller=ada, json={"name": "Engines", "slug": slug})
        assert response.status_and_code == "422 validation_failed"
        assert set(response.errors) == {"/slug"}

    def test_the_slug_of_another_organization_is_taken(self, api, ada, stranger):
        create_organization(api, ada, slug="engines")
        response = api.post("/organizations", caller=stranger, json={"name": "Mine", "slug": "engines"})
        assert response.status_and_code == "409 slug_taken"
        assert set(response.errors) == {"/slug"}
        assert api.get_items("/organizations", caller=stranger) == []


class TestCompanyFields:
    @pytest.mark.parametrize("country", ["DE", "GB", "CW", "SS", "ZW", "AX"])
    def test_countries_of_iso_3166_are_accepted(self, api, ada, country):
        assert create_organization(api, ada, companyCountry=country).record["companyCountry"] == country

    @pytest.mark.parametrize("country", ["XX", "UK", "de", "DEU", "", "276", "AN", "EU", "D"])
    def test_other_country_codes_are_rejected(self, api, ada, country):
        response = api.post("/organizations", caller=ada, json={"name": "Engines", "companyCountry": country})
        assert response.status_and_code == "422 validation_failed"
        assert set(response.errors) == {"/companyCountry"}

    def test_email_addresses_are_stored_in_lower_case(self, api, ada):
        record = create_organization(api, ada, legalEmail="Legal@EXAMPLE.com", supportEmail=" Help@Example.COM ").record
        assert (record["legalEmail"], record["supportEmail"]) == ("legal@example.com", "help@example.com")

    @pytest.mark.parametrize(
        "email", ["", "ada", "ada@", "@example.com", "a b@example.com", "ada@example", "a@@b.de", "a@b..de"]
    )
    def test_invalid_email_addresses_are_rejected(self, api, ada, email):
        response = api.post("/organizations", caller=ada, json={"name": "Engines", "legalEmail": email})
        assert response.status_and_code == "422 validation_failed"
        assert set(response.errors) == {"/legalEmail"}

    def test_long_text_has_up_to_4000_characters_and_several_lines(self, api, ada):
        address = "12 St James's Square\n\tLondon\r\n" + "x" * 3900
        assert create_organization(api, ada, companyAddress=address).record["companyAddress"] == address
        for invalid_address in ("x" * 4001, "a\x00b"):
            response = api.post(
                "/organizations", caller=ada, json={"name": "Engines", "companyAddress": invalid_address}
            )
            assert set(response.errors) == {"/companyAddress"}


class TestValidationErrors:
    def test_all_errors_are_reported_together_each_with_its_pointer(self, api, ada):
        body = {"name": "", "slug": "A--b", "companyCountry": "XX", "legalEmail": "x", "nickname": 1, "a/b~c": 2}
        response = api.post("/organizations", caller=ada, json=body)
        assert response.status_and_code == "422 validation_failed"
        assert set(response.errors) == {"/name", "/slug", "/companyCountry", "/legalEmail", "/nickname", "/a~1b~0c"}
        assert response.errors["/nickname"] == "unknown_field"

    @pytest.mark.parametrize(
        "field", ["id", "version", "ownerId", "status", "createdAt", "deletionDueAt", "company_name"]
    )
    def test_fields_set_by_the_service_are_unknown(self, api, ada, field):
        response = api.post("/organizations", caller=ada, json={"name": "Engines", field: "x"})
        assert response.errors == {f"/{field}": "unknown_field"}

    def test_a_rejected_request_stores_nothing(self, api, ada):
        api.post("/organizations", caller=ada, json={"name": "Engines", "slug": "A"})
        assert api.get_items("/organizations", caller=ada) == []
