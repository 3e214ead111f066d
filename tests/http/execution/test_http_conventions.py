"""HTTP conventions: cases beyond those that `tests/catalogue` and `tests/security` test for every operation."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import date
from urllib.parse import parse_qsl, urlsplit

import pytest

from chalicelib.entrypoints import http
from chalicelib.entrypoints.catalogue import load_operation
from chalicelib.entrypoints.openapi import headers
from chalicelib.kernel.core.settings import settings
from chalicelib.kernel.core.version import API_VERSION
from chalicelib.kernel.http.request import DEPRECATION_HEADERS
from chalicelib.kernel.operations.deprecation import Deprecation
from tests.harness.api import STAGE_PATH, ApiResponse
from tests.harness.callers import Person
from tests.harness.faults import Fault, inject_fault
from tests.harness.organizations import create_api_key, create_organization, post_api_key

AS_JSON = {"Content-Type": "application/json"}
MAX_BODY_BYTES = 1 << 20


class TestBodies:
    @pytest.mark.parametrize(
        ("body", "problem"),
        [
            *((body, "400 malformed_json") for body in (b"nothing", b'{"name": }', b"{'name': 'x'}", b'{"name": NaN}')),
            *((body, "422 validation_failed") for body in (b"[]", b'"x"', b"null", b"7")),
        ],
    )
    def test_a_body_that_is_no_json_object_is_rejected(self, api, organization, ada, body, problem):
        for method, path in (("POST", "/organizations"), ("PATCH", organization.path)):
            assert api.request(method, path, caller=ada, body=body, headers=AS_JSON).status_and_code == problem

    def test_the_names_of_numbers_that_json_lacks_are_text_in_a_text(self, api, ada):
        assert create_organization(api, ada, name="NaN and -Infinity").record["name"] == "NaN and -Infinity"

    @pytest.mark.parametrize(
        ("content_type", "status"),
        [
            *((content_type, 415) for content_type in ("", "application/merge-patch+json", "*/*")),
            *((content_type, 201) for content_type in ("APPLICATION/JSON", "application/json; charset=utf-8")),
        ],
    )
    def test_the_content_type_is_json_in_any_spelling(self, api, ada, content_type, status):
        sent = {"Content-Type": content_type}
        assert api.post("/organizations", caller=ada, body=b'{"name": "x"}', headers=sent).status == status

    @pytest.mark.parametrize(
        ("name", "problem"),
        [
            ("x" * (MAX_BODY_BYTES - len('{"name": ""}')), "422 validation_failed"),
            ("x" * (MAX_BODY_BYTES - len('{"name": ""}') + 1), "413 payload_too_large"),
            ("é" * (MAX_BODY_BYTES // 2), "413 payload_too_large"),  # Bytes count, not characters.
        ],
        ids=["one mebibyte", "one byte more", "bytes"],
    )
    def test_a_body_over_one_mebibyte_is_too_large(self, api, organization, ada, name, problem):
        for method, path in (("POST", "/organizations"), ("PATCH", organization.path)):
            assert api.request(method, path, caller=ada, json={"name": name}).status_and_code == problem


def test_the_last_of_repeated_parameters_counts(api, organization, ada):
    response = api.get(f"{organization.path}/members", caller=ada, query={"limit": ["x", "2"]})
    assert len(response.json["items"]) == 2


class TestUnknownQueryParameters:
    @pytest.fixture
    def list_members(self, api, organization, ada):
        return lambda query, **options: api.get(f"{organization.path}/members", caller=ada, query=query, **options)

    @pytest.mark.parametrize(
        "prefer",
        [
            *(
                "handling=strict",
                'HANDLING = "Strict"',
                "handling=strict; wait=5",
                'x="a, \\"b", ,handling=strict,wait=1',
            ),
            ["return=minimal", "handling=strict", "handling=lenient"],
        ],
    )
    def test_strict_handling_rejects_them_with_all_other_errors_of_the_query(self, list_members, prefer):
        response = list_members({"role": "admin", "limit": 0}, headers={"Prefer": prefer})
        assert response.validation_errors == {"query/role": "unknown_parameter", "query/limit": "out_of_range"}
        assert response.json["errors"][0]["detail"].endswith(" It has: cursor, include, limit, q, sort.")
        assert response.headers["Preference-Applied"] == "handling=strict"

    @pytest.mark.parametrize(
        "prefer",
        [
            *("", "handling", "handling=lenient", "handling=stricter", "strict", "respond-async", "x; handling=strict"),
            *(
                'x="handling=strict, y"',
                'x="a, handling=strict',
                "handling=lenient, handling=strict",
                "handling=strict x",
            ),
        ],
    )
    def test_other_preferences_have_no_effect(self, list_members, prefer):
        response = list_members({"role": "admin"}, headers={"Prefer": prefer}).expect(200)
        assert response.headers["Ignored-Parameters"] == "role"
        assert "Preference-Applied" not in response.headers

    def test_their_names_are_encoded_and_limited(self, list_members):
        def ignored_parameters(*names: str) -> str:
            return str(list_members(dict.fromkeys(names, "1")).headers["Ignored-Parameters"])

        encoded = "filter%5Brole%5D, a%2Cb, %C3%BC%0D%0ASet-Cookie%3A%20x"
        assert ignored_parameters("filter[role]", "a,b", "", "ü\r\nSet-Cookie: x") == encoded
        assert ignored_parameters("😀" * 100, "x") == "%F0%9F%98%80" * 64 + ", x"
        assert len(ignored_parameters(*(f"{n}-name" for n in range(200)))) in range(1000, 1025)

    def test_a_field_of_the_body_is_misplaced_and_not_unknown(self, api, organization, ada):
        for preference in ({}, {"Prefer": "handling=strict"}):
            response = api.patch(f"{organization.path}?name=Mills", caller=ada, json={}, headers=preference)
            assert response.validation_errors == {"query/name": "misplaced"}


@pytest.mark.parametrize("version", ["2026-11-19", "1", "", "latest", "2026-11-20, 2026-11-20"])
def test_only_the_current_version_is_accepted_even_without_a_credential(api, version):
    assert API_VERSION == "2026-11-20"
    for path in ("/status", "/organizations"):
        response = api.get(path, headers={"API-Version": version})
        assert response.problem_and_pointers == ("400 unknown_api_version", ["header/API-Version"])


def test_a_deprecated_operation_announces_its_removal_in_responses_and_problems(api, monkeypatch):
    deprecation = Deprecation(date(2026, 12, 1), date(2027, 6, 1), "Use `GET /health`.")
    monkeypatch.setattr(http, "load_operation", lambda path: replace(load_operation(path), deprecation=deprecation))
    announced = {"Deprecation": "@1796083200", "Sunset": "Tue, 01 Jun 2027 00:00:00 GMT"}
    for path, status in (("/status", 200), ("/organizations", 401)):
        response = api.get(path).expect(status)
        assert {name: response.headers.get(name) for name in announced} == announced
        assert response.headers["Access-Control-Expose-Headers"].endswith("Deprecation, Sunset")
    with pytest.raises(ValueError, match="180 days"):
        replace(deprecation, removed_on=date(2027, 5, 29))


class TestCors:
    @pytest.mark.parametrize(
        ("method", "path"), [("GET", "/organizations"), ("OPTIONS", "/organizations"), ("PUT", "/status")]
    )
    def test_any_origin_may_read_rejections_without_browser_credentials(self, api, method, path):
        response = api.request(method, path, headers={"Origin": "https://app.example"})
        assert response.headers["Access-Control-Allow-Origin"] == "*"
        assert "Access-Control-Allow-Credentials" not in response.headers
        exposed = {name.strip() for name in response.headers["Access-Control-Expose-Headers"].split(",")}
        # Pages may always read Content-Disposition: it is a CORS-safelisted response-header name.
        assert exposed == {*headers.RESPONSE_HEADERS, "Content-Disposition"} - {"Cache-Control", *DEPRECATION_HEADERS}
        if method == "OPTIONS":
            assert "api-version" in response.headers["Access-Control-Allow-Headers"].lower()
            assert int(response.headers["Access-Control-Max-Age"]) > 0

    def test_configured_origins_exclude_all_others(self, api, configure):
        configure(cors_origins="https://one.example, https://two.example")
        configured = ["https://one.example", "https://two.example"]
        for origin in (*configured, "https://evil.example", "https://one.example.evil", "null", ""):
            response = api.get("/status", headers={"Origin": origin})
            allowed_origin = response.headers.get("Access-Control-Allow-Origin")
            assert allowed_origin == (origin if origin in configured else None)
            assert "Origin" in response.headers["Vary"]


def test_a_problem_echoes_no_value(api, ada):
    response = api.post("/organizations", caller=ada, json={"name": "x", "slug": "Secret-value"})
    (error,) = response.json["errors"]
    assert ({*error}, error["pointer"]) == ({"pointer", "code", "detail"}, "/slug")
    assert "Secret-value" not in response.text


def test_a_queue_failure_does_not_undo_the_commit(api, ada, workers, clock, configure, caplog):
    with inject_fault(Fault.TIMED_OUT, call_name="sqs:SendMessage", times=None):
        assert api.post("/organizations", caller=ada, json={"name": "x"}).status == 201
    queue = settings().events_queue_url
    configure(events_queue_url=queue.replace("events", "gone"))
    caplog.clear()
    response = api.post("/organizations", caller=ada, json={"name": "Engines"})
    assert response.status == 201  # It is committed: an error would make the client repeat the request.
    assert [vars(record)["wake"] for record in caplog.records if "wake" in vars(record)] == ["QueueDoesNotExist"]
    configure(events_queue_url=queue)
    clock.shift(minutes=1)
    workers.run_sweep()
    workers.deliver()
    entries = api.get_items(f"{response.location}/audit-log", caller=ada)
    assert [entry["sequence"] for entry in entries] == [1]


class TestCredentials:
    @pytest.mark.parametrize("header", ["", "Bearer ", "Bearer a.b.c"])
    def test_a_malformed_credential_is_rejected_even_by_public_operations(self, api, header):
        for path in ("/status", "/organizations"):
            assert api.get(path, headers={"Authorization": header}).status_and_code == "401 unauthenticated"

    def test_user_ids_are_case_insensitive(self, api, issuer, ada, organization):
        same_user = issuer.create_person("ada", "Ada", sub=ada.id.upper())
        assert api.get(organization.path, caller=same_user).status == 200

    def test_a_token_without_name_and_email_address_is_accepted(self, api, issuer):
        token = issuer.issue_token(sub="someone")
        response = api.post("/organizations", caller=token, json={"name": "x"})
        (member,) = api.get_items(f"{response.location}/members", caller=token)
        assert (member["username"], member["name"], member["email"]) == (None, None, None)
        (entry,) = api.get_items(f"{response.location}/audit-log", caller=token)
        assert entry["actor"]["name"] is None


class TestPrecedence:
    def test_401_then_403_for_a_principal_type_then_404_then_403_then_422(self, api, organization, mary, stranger, ada):
        path, foreign = (f"{each}/transfer-ownership" for each in (organization.path, f"/organizations/{ada.id}"))
        key = create_api_key(api, organization, "admin")

        def problem(url: str, caller: object) -> object:
            return api.post(url, caller=caller, json={"newOwnerId": "x"}).status_and_code

        assert (problem(path, "broken"), problem(foreign, key)) == ("401 unauthenticated", "403 forbidden")
        api.delete(organization.api_key_path(key), caller=ada)
        assert problem(foreign, key) == "401 api_key_revoked"
        assert problem(path, stranger) == "404 not_found"
        assert (problem(path, mary), problem(path, ada)) == ("403 insufficient_role", "422 validation_failed")
        for missing in ("/organizations/nonsense", "/organizations/by-slug/-", f"{organization.path}/members/nonsense"):
            assert api.get(missing, caller=key).status_and_code == "401 api_key_revoked"

    def test_422_then_412_then_409(self, api, organization, ada):
        create_organization(api, ada, slug="taken")
        path, stale = organization.path, {"If-Match": '"000000000000.9.000000000000"'}
        for method, url, body, problem, later_problem in [
            ("PATCH", path, {"slug": "A"}, "422 validation_failed", "422 validation_failed"),
            ("PATCH", path, {"slug": "taken"}, "412 precondition_failed", "409 slug_taken"),
            ("DELETE", organization.member_path(ada), None, "412 precondition_failed", "409 owner_must_transfer"),
            # Validation errors that depend on records take precedence too.
            ("POST", f"{path}/transfer-ownership", {"newOwnerId": organization.id}, "422 validation_failed", None),
            ("PATCH", path, {"status": "pending_deletion"}, "422 validation_failed", None),
        ]:
            assert api.request(method, url, caller=ada, json=body, headers=stale).status_and_code == problem
            if later_problem:
                assert api.request(method, url, caller=ada, json=body).status_and_code == later_problem

    @pytest.mark.parametrize(
        ("body", "content_type"),
        [(b"{", "application/json"), (b"x", "text/plain"), (b"x" * (MAX_BODY_BYTES + 1), "application/json")],
        ids=["malformed", "text", "too large"],
    )
    def test_404_precedes_every_error_of_the_body(self, api, stranger, organization, body, content_type):
        response = api.patch(organization.path, caller=stranger, body=body, headers={"Content-Type": content_type})
        assert response.status_and_code == "404 not_found"


class TestLists:
    def test_a_page_has_25_items_by_default_and_the_limit_can_change_between_pages(self, api, organization, ada):
        path = organization.api_keys_path
        key_ids = [post_api_key(api, organization).json["id"] for _ in range(26)]
        first = api.get(path, caller=ada).json
        assert ({*first}, len(first["items"])) == ({"items", "nextCursor"}, 25)
        first = api.get(path, caller=ada, query={"limit": 2}).json
        second = api.get(path, caller=ada, query={"limit": 50, "cursor": first["nextCursor"]}).json
        assert [key["id"] for key in first["items"] + second["items"]] == key_ids
        assert second["nextCursor"] is None

    def test_the_link_leads_to_the_next_page_with_the_same_filters_and_a_cursor_is_valid_only_for_them(
        self, api, organization, ada
    ):
        path, query = f"{organization.path}/audit-log", {"limit": "1", "type": "organization.*", "actorId": ada.id}
        for n in range(2):
            api.patch(organization.path, caller=ada, json={"name": f"Name {n}"})
        answer = api.get(path, caller=ada, query=query)
        url = urlsplit(answer.headers["Link"].partition("; ")[0].strip("<>"))
        next_query = dict(parse_qsl(url.query))
        assert (url.path, next_query) == (f"{STAGE_PATH}{path}", {**query, "cursor": answer.json["nextCursor"]})
        next_items = api.get(path, caller=ada, query=next_query).json["items"]
        assert len(next_items) == 1
        assert next_items != answer.json["items"]
        for filters in ({}, {"type": "organization.*"}, {"type": "organization.member.*", "actorId": ada.id}):
            response = api.get(path, caller=ada, query={"cursor": next_query["cursor"], **filters})
            assert response.problem_and_pointers == ("400 invalid_cursor", ["query/cursor"])

    def test_a_cursor_of_another_organization_or_caller_is_rejected(self, api, organization, ada, stranger):
        other, _, _ = (create_organization(api, owner) for owner in (ada, stranger, stranger))
        for path, other_path, caller in [
            (f"{organization.path}/members", f"{other.path}/members", ada),
            ("/organizations", "/organizations", stranger),
            ("/organizations", "/organizations", create_api_key(api, organization)),  # Its list has one item.
        ]:
            cursor = api.get(path, caller=ada, query={"limit": 1}).json["nextCursor"]
            response = api.get(other_path, caller=caller, query={"cursor": cursor})
            assert response.problem_and_pointers == ("400 invalid_cursor", ["query/cursor"])

    def test_a_cursor_is_valid_for_every_member_and_after_its_item_was_removed(
        self, api, organization, ada, grace, mary
    ):
        path = f"{organization.path}/members"
        cursor = api.get(path, caller=ada, query={"limit": 2}).json["nextCursor"]
        before = [api.get(path, caller=caller, query={"cursor": cursor}).json["items"] for caller in (ada, mary)]
        assert [item["id"] for item in before[0]] == [item["id"] for item in before[1]]
        api.delete(organization.member_path(grace), caller=ada)
        remaining = api.get(path, caller=ada, query={"cursor": cursor}).json["items"]
        assert [member["username"] for member in remaining] == ["edith", "mary"]

    def test_access_is_checked_before_the_cursor(self, api, organization, stranger, mary):
        for url, caller, problem in [
            (f"{organization.path}/members", None, "401 unauthenticated"),
            (f"{organization.path}/members", stranger, "404 not_found"),
            (organization.api_keys_path, mary, "403 insufficient_role"),
        ]:
            assert api.get(url, caller=caller, query={"cursor": "x"}).status_and_code == problem


class TestConditionalRequests:
    @pytest.fixture
    def patch(self, api, organization, ada):
        """A function that changes the organization on a condition."""
        return lambda tag, **body: api.patch(organization.path, caller=ada, json=body, headers={"If-Match": tag})

    def test_callers_who_see_different_fields_and_members_of_different_organizations_have_different_etags(
        self, api, organization, ada, grace, mary
    ):
        other, own = create_organization(api, ada).member_path(ada), organization.member_path(ada)
        reads = [(own, ada), (own, mary), (organization.member_path(grace), ada), (other, ada)]
        assert len({api.get(path, caller=caller).etag for path, caller in reads}) == 4

    def test_a_matching_etag_returns_304_until_the_record_changes(self, api, organization, ada, stranger):
        path, etag = organization.path, api.get(organization.path, caller=ada).etag

        def get(tag: str, caller: Person = ada) -> ApiResponse:
            response: ApiResponse = api.get(path, caller=caller, headers={"If-None-Match": tag})
            return response

        assert [get(tag).status for tag in (f'"x",{etag} , "y"', f'"a,b" , W/"", {etag}')] == [304, 304]
        # Mutations ignore the header.
        assert api.patch(path, caller=ada, json={"name": "New"}, headers={"If-None-Match": etag}).status == 200
        assert [get(tag).json["name"] for tag in (etag, '"a,b","c"')] == ["New", "New"]
        assert get("*", caller=stranger).status_and_code == "404 not_found"
        assert get("unquoted").problem_and_pointers == ("400 invalid_header", ["header/If-None-Match"])

    def test_only_a_strong_matching_etag_allows_a_change_even_if_it_is_empty(self, api, organization, ada, patch):
        path = organization.path
        stale = api.get(path, caller=ada).etag
        assert patch(f'{stale},"y"', name="Former").status == 200
        current = patch("*", name="Present")
        other = api.get(create_organization(api, ada).path, caller=ada).etag
        for tag in (f'{stale}, "x"', '""', f"W/{current.etag}", other):
            for body in ({"name": "Lost"}, {}):
                assert patch(tag, **body).problem_and_pointers == ("412 precondition_failed", ["header/If-Match"])
        assert api.get(path, caller=ada).json == current.json

    @pytest.mark.parametrize("sent", ["", '"a" "b"', '"open', "*,", "* , *", '"a",,"b"', "W/x"])
    def test_a_malformed_if_match_is_an_invalid_header(self, patch, sent):
        assert patch(sent, name="x").problem_and_pointers == ("400 invalid_header", ["header/If-Match"])

    def test_a_caller_may_send_the_etag_that_another_caller_got(self, api, organization, ada, edith, mary):
        member = organization.member_path(edith)
        etag = api.get(member, caller=mary).etag
        assert api.patch(member, caller=ada, json={"role": "member"}, headers={"If-Match": etag}).status == 200

    def test_one_of_several_concurrent_requests_with_the_same_etag_succeeds(self, api, organization, ada, patch):
        current = api.get(organization.path, caller=ada)
        with ThreadPoolExecutor(5) as threads:
            statuses = sorted(threads.map(lambda n: patch(current.etag, name=f"Name {n}").status, range(5)))
        assert statuses == [200, 412, 412, 412, 412]
        assert api.get(organization.path, caller=ada).json["version"] == current.json["version"] + 1

    def test_concurrent_patches_without_if_match_are_all_applied(self, api, ada):
        path = create_organization(api, ada).path
        fields = ["name", "companyName", "companyId", "companyLegalName", "companyAddress"]
        with ThreadPoolExecutor(5) as threads:
            statuses = [*threads.map(lambda name: api.patch(path, caller=ada, json={name: "set"}).status, fields)]
        record = api.get(path, caller=ada).json
        assert (statuses, record["version"]) == ([200] * 5, 6)
        assert [record[field] for field in fields] == ["set"] * 5


class TestHead:
    @pytest.mark.usefixtures("home_page")
    def test_a_visit_by_head_is_answered_like_one_by_get_but_without_a_body(self, api, site):
        options = {"query": {"host": site.record["host"]}}
        get, head = (api.request(method, "/sites/resolve", **options).expect(200) for method in ("GET", "HEAD"))
        assert head.comparable_content == (*get.comparable_content[:2], "")
        assert api.request("HEAD", "/sites/resolve", **options, headers={"If-None-Match": get.etag}).status == 304
