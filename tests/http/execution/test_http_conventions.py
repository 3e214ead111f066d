import json

import pytest

from chalicelib.entrypoints.openapi import headers
from chalicelib.kernel.core.version import API_VERSION
from tests.harness.faults import Fault, inject_fault
from tests.harness.organizations import create_api_key, create_organization

AS_JSON = {"Content-Type": "application/json"}


class TestBodies:
    @pytest.mark.parametrize(
        "body",
        [
            b"{",
            b"nothing",
            b'{"name": }',
            b"{'name': 'x'}",
            b'{"name": "x"} x',
            b'{"name": NaN}',
            b'{"x": -Infinity}',
            b"\xff\xfe",
            b'{"name": "\xff"}',
            b'{"a":' * 3000,
        ],
    )
    def test_invalid_json_is_malformed(self, api, ada, body):
        for method, path in (("POST", "/organizations"), ("PATCH", create_organization(api, ada).path)):
            response = api.request(method, path, caller=ada, body=body, headers=AS_JSON)
            assert response.status_and_code == "400 malformed_json"

    def test_strings_may_contain_nan_and_infinity(self, api, ada):
        assert create_organization(api, ada, name="NaN and -Infinity").record["name"] == "NaN and -Infinity"

    @pytest.mark.parametrize("body", [b"[]", b'"x"', b"null", b"7"])
    def test_json_other_than_an_object_is_rejected(self, api, ada, body):
        assert (
            api.post("/organizations", caller=ada, body=body, headers=AS_JSON).status_and_code
            == "422 validation_failed"
        )

    @pytest.mark.parametrize(
        "content_type",
        ["text/plain", "application/x-www-form-urlencoded", "application/merge-patch+json", "", "json", "*/*"],
    )
    def test_other_content_types_are_not_supported(self, api, ada, content_type):
        response = api.post("/organizations", caller=ada, body=b'{"name": "x"}', headers={"Content-Type": content_type})
        assert response.status_and_code == "415 unsupported_media_type"

    @pytest.mark.parametrize(
        "content_type", ["application/json", "APPLICATION/JSON", "application/json; charset=utf-8"]
    )
    def test_the_json_content_type_is_accepted_in_any_spelling(self, api, ada, content_type):
        response = api.post("/organizations", caller=ada, body=b'{"name": "x"}', headers={"Content-Type": content_type})
        assert response.status == 201

    def test_a_body_over_one_mebibyte_is_too_large(self, api, ada):
        name = "x" * ((1 << 20) - len('{"name": ""}'))
        for body, code in ((name, "422 validation_failed"), (name + "x", "413 payload_too_large")):
            assert api.post("/organizations", caller=ada, json={"name": body}).status_and_code == code
        assert (
            api.patch(create_organization(api, ada).path, caller=ada, json={"name": name + "x"}).status_and_code
            == "413 payload_too_large"
        )

    def test_the_body_size_counts_bytes_not_characters(self, api, ada):
        assert (
            api.post("/organizations", caller=ada, json={"name": "é" * (1 << 19)}).status_and_code
            == "413 payload_too_large"
        )

    def test_a_body_on_a_get_is_ignored(self, api, organization, ada):
        for body, content_type in ((b"{", "application/json"), (b"x" * 2000, "text/plain"), (b"\xff", "image/png")):
            response = api.request(
                "GET", organization.path, caller=ada, body=body, headers={"Content-Type": content_type}
            )
            assert response.json == organization.record

    def test_a_body_on_a_delete_is_ignored(self, api, ada):
        response = api.request("DELETE", create_organization(api, ada).path, caller=ada, body=b"{", headers=AS_JSON)
        assert response.status == 204

    def test_deep_nesting_is_rejected(self, api, ada):
        body = b'{"name": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"
        assert api.post("/organizations", caller=ada, body=body, headers=AS_JSON).status in (400, 422)

    def test_huge_numbers_are_rejected(self, api, ada):
        for number in (b"1e999", b"9" * 400, b"-" + b"9" * 5000):
            response = api.post("/organizations", caller=ada, body=b'{"name": ' + number + b"}", headers=AS_JSON)
            assert response.status in (400, 422)


class TestQueries:
    def test_unknown_parameters_are_ignored(self, api, organization, ada):
        assert api.get(organization.path, caller=ada, query={"x": 1, "limit": "x"}).json == organization.record
        assert api.get("/organizations", caller=ada, query={"colour": "red", "organization_id": "x"}).status == 200
        assert api.patch(organization.path, caller=ada, json={}, query={"x": "y"}).status == 200

    def test_the_last_of_repeated_parameters_counts(self, api, organization, ada):
        response = api.get(f"{organization.path}/members", caller=ada, query={"limit": ["x", "2"]})
        assert len(response.json["items"]) == 2


class TestMethods:
    @pytest.mark.parametrize(
        ("method", "path", "allowed"),
        [
            ("PUT", "/organizations", {"GET", "POST"}),
            ("DELETE", "/organizations", {"GET", "POST"}),
            ("POST", "/organizations/x", {"GET", "PATCH", "DELETE"}),
            ("POST", "/status", {"GET"}),
            ("GET", "/organizations/x/leave", {"POST"}),
            ("PATCH", "/organizations/x/members", {"GET"}),
        ],
    )
    def test_an_unsupported_method_is_rejected_with_the_allowed_methods(self, api, ada, method, path, allowed):
        for caller in (ada, None):
            response = api.request(method, path, caller=caller)
            assert response.status_and_code == "405 method_not_allowed"
            assert {name.strip() for name in response.headers["Allow"].split(",")} - {"OPTIONS", "HEAD"} == allowed


class TestApiVersion:
    def test_the_current_version_is_accepted(self, api, ada):
        assert API_VERSION == "2026-11-20"
        assert api.get("/organizations", caller=ada, headers={"API-Version": "2026-11-20"}).status == 200

    @pytest.mark.parametrize("version", ["2026-11-19", "1", "", "latest", "2026-11-20, 2026-11-20"])
    def test_other_versions_are_unknown(self, api, ada, version):
        for path, caller in (("/organizations", ada), ("/status", None)):
            response = api.get(path, caller=caller, headers={"API-Version": version})
            assert response.status_and_code == "400 unknown_api_version"
            assert set(response.errors) == {"header/API-Version"}

    def test_the_version_is_checked_before_the_credential(self, api):
        assert api.get("/organizations", headers={"API-Version": "1"}).status_and_code == "400 unknown_api_version"


class TestRequestIds:
    def test_the_request_id_of_the_gateway_overrides_that_of_the_client(self, api, ada):
        response = api.post("/organizations", caller=ada, json={"name": "x"}, headers={"X-Request-Id": "mine"})
        entry = api.get_items(f"{response.location}/audit-log", caller=ada)[0]
        assert entry["context"]["requestId"] == response.request_id == response.headers["X-Request-Id"] != "mine"

    def test_problems_and_preflights_have_a_request_id(self, api):
        assert api.get("/organizations").json["requestId"]
        assert api.request("OPTIONS", "/organizations").headers["X-Request-Id"]


class TestCors:
    def test_any_origin_may_call_without_browser_credentials(self, api):
        for method, path in (
            ("GET", "/status"),
            ("GET", "/organizations"),
            ("OPTIONS", "/organizations"),
            ("PUT", "/status"),
        ):
            response = api.request(method, path, headers={"Origin": "https://app.example"})
            assert response.headers["Access-Control-Allow-Origin"] == "*"
            assert "Access-Control-Allow-Credentials" not in response.headers
            exposed = {name.strip() for name in response.headers["Access-Control-Expose-Headers"].split(",")}
            assert {"ETag", "Link", "Location", "X-Request-Id", "Retry-After"} <= exposed
            # Pages may always read Content-Disposition: it is a CORS-safelisted response-header name.
            assert exposed == {*headers.RESPONSE_HEADERS, "Content-Disposition"} - {"Cache-Control"}

    @pytest.mark.parametrize(
        ("path", "methods"),
        [
            ("/organizations", {"GET", "POST"}),
            ("/organizations/x", {"GET", "PATCH", "DELETE"}),
            ("/organizations/x/api-keys/y/rotate", {"POST"}),
            ("/status", {"GET"}),
        ],
    )
    def test_a_preflight_lists_methods_and_headers_without_a_credential(self, api, path, methods):
        preflight_headers = {
            "Origin": "https://app.example",
            "Access-Control-Request-Method": "POST",
            "Access-Control-Request-Headers": "authorization,content-type,idempotency-key,if-match",
        }
        response = api.request("OPTIONS", path, headers=preflight_headers)
        assert (response.status, response.text) == (204, "")
        assert methods <= {name.strip() for name in response.headers["Access-Control-Allow-Methods"].split(",")}
        allowed = {name.strip().lower() for name in response.headers["Access-Control-Allow-Headers"].split(",")}
        required = {"authorization", "content-type", "idempotency-key", "if-match", "if-none-match", "api-version"}
        assert required <= allowed
        assert int(response.headers["Access-Control-Max-Age"]) > 0

    def test_configured_origins_exclude_all_others(self, api, configure):
        configure(cors_origins="https://one.example, https://two.example")
        for origin in ("https://one.example", "https://two.example"):
            response = api.get("/status", headers={"Origin": origin})
            assert response.headers["Access-Control-Allow-Origin"] == origin
            assert "Origin" in response.headers["Vary"]
        for origin in ("https://evil.example", "https://one.example.evil", "null", ""):
            response = api.get("/status", headers={"Origin": origin})
            assert "Access-Control-Allow-Origin" not in response.headers
            assert "Origin" in response.headers["Vary"]


class TestProblems:
    def test_a_problem_has_exactly_the_fields_of_the_contract(self, api, ada):
        response = api.post("/organizations", caller=ada, json={"name": "x", "slug": "A"})
        problem = response.json
        assert {**problem, "errors": [], "detail": ""} == {
            "type": "urn:atrium:problem:validation_failed",
            "title": problem["title"],
            "status": 422,
            "detail": "",
            "code": "validation_failed",
            "instance": "/organizations",
            "requestId": response.request_id,
            "errors": [],
        }
        (error,) = problem["errors"]
        assert set(error) == {"pointer", "code", "detail"}
        assert error["pointer"] == "/slug"

    def test_rejected_values_are_not_echoed(self, api, ada):
        response = api.post("/organizations", caller=ada, json={"name": "x", "legalEmail": "secret-value"})
        assert "secret-value" not in response.text

    def test_a_throttled_or_failing_database_is_unavailable(self, api, organization, ada):
        for fault in (Fault.THROTTLED, Fault.TIMED_OUT, Fault.INTERNAL_ERROR):
            with inject_fault(fault, times=None):
                response = api.get(organization.path, caller=ada)
            assert response.status_and_code == "503 unavailable"
            assert int(response.headers["Retry-After"]) >= 1

    def test_a_queue_timeout_does_not_fail_the_request(self, api, ada):
        with inject_fault(Fault.TIMED_OUT, call_name="sqs:SendMessage", times=None):
            assert api.post("/organizations", caller=ada, json={"name": "x"}).status == 201


class TestPrecedence:
    def test_401_then_403_for_a_principal_type_then_404_then_403_then_422(self, api, organization, mary, stranger, ada):
        path, invalid_body = f"{organization.path}/transfer-ownership", {"json": {"newOwnerId": "x"}}
        key = create_api_key(api, organization, "admin")
        foreign = "/organizations/01939d3c-0000-7000-8000-00000000000a/transfer-ownership"
        assert api.post(path, caller="broken", **invalid_body).status_and_code == "401 unauthenticated"
        assert api.post(foreign, caller=key, **invalid_body).status_and_code == "403 forbidden"
        api.delete(f"{organization.path}/api-keys/{key.id}", caller=ada)
        assert api.post(foreign, caller=key, **invalid_body).status_and_code == "401 api_key_revoked"
        assert api.post(path, caller=stranger, **invalid_body).status_and_code == "404 not_found"
        assert api.post(path, caller=mary, **invalid_body).status_and_code == "403 insufficient_role"
        assert api.post(path, caller=ada, **invalid_body).status_and_code == "422 validation_failed"

    def test_422_then_412_then_409(self, api, ada):
        create_organization(api, ada, slug="taken")
        path, stale = create_organization(api, ada, slug="mine").path, {"If-Match": '"stale"'}
        assert api.patch(path, caller=ada, json={"slug": "A"}, headers=stale).status_and_code == "422 validation_failed"
        assert (
            api.patch(path, caller=ada, json={"slug": "taken"}, headers=stale).status_and_code
            == "412 precondition_failed"
        )
        assert api.patch(path, caller=ada, json={"slug": "taken"}).status_and_code == "409 slug_taken"

    def test_404_precedes_every_error_of_the_body(self, api, stranger, organization):
        for body, content_type in (
            (b"{", "application/json"),
            (b"x", "text/plain"),
            (b"x" * (1 << 20 | 1), "application/json"),
        ):
            response = api.patch(organization.path, caller=stranger, body=body, headers={"Content-Type": content_type})
            assert response.status_and_code == "404 not_found"


class TestCredentials:
    @pytest.mark.parametrize(
        "header",
        ["", "Bearer", "Bearer ", "Basic YTpi", "bearer x", "Bearer a.b.c", "Token x", "Bearer  ", "a.b.c", "Bearer é"],
    )
    def test_public_operations_reject_malformed_credentials_too(self, api, header):
        for path in ("/status", "/organizations"):
            response = api.get(path, headers={"Authorization": header})
            assert response.status_and_code == "401 unauthenticated"
            assert response.headers["WWW-Authenticate"].startswith("Bearer")

    def test_the_scheme_is_case_insensitive(self, api, ada):
        for scheme in ("bearer", "BEARER", "Bearer "):
            response = api.get("/organizations", headers={"Authorization": f"{scheme} {ada.credential}"})
            assert response.status == 200

    def test_an_expired_token_gets_its_own_problem_code(self, api, issuer):
        assert (
            api.get("/organizations", caller=issuer.issue_token(sub="x", exp=1)).status_and_code == "401 token_expired"
        )

    def test_a_token_for_another_service_is_rejected(self, api, issuer):
        for claims in ({"aud": "other"}, {"iss": "https://other.example"}, {"nbf": 32503680000}, {"sub": ""}):
            response = api.get("/organizations", caller=issuer.issue_token(**{"sub": "x", **claims}))
            assert response.status_and_code == "401 unauthenticated"

    def test_user_ids_are_case_insensitive(self, api, issuer, ada):
        organization = create_organization(api, ada)
        same_user = issuer.create_person("ada", "Ada", sub=ada.id.upper())
        assert api.get(organization.path, caller=same_user).status == 200

    def test_a_token_without_name_and_email_address_is_accepted(self, api, issuer):
        token = issuer.issue_token(sub="someone")
        response = api.post("/organizations", caller=token, json={"name": "x"})
        (member,) = api.get_items(f"{response.location}/members", caller=token)
        assert (member["username"], member["name"], member["email"]) == (None, None, None)
        (entry,) = api.get_items(f"{response.location}/audit-log", caller=token)
        assert entry["actor"]["name"] is None
        assert json.dumps(entry)
