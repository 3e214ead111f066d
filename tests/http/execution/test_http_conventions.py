import pytest

from chalicelib.entrypoints.openapi import headers
from chalicelib.kernel.core.settings import settings
from chalicelib.kernel.core.version import API_VERSION
from tests.harness.faults import Fault, inject_fault
from tests.harness.organizations import create_api_key, create_organization

AS_JSON = {"Content-Type": "application/json"}
MAX_BODY_BYTES = 1 << 20


class TestBodies:
    def test_a_body_that_is_no_json_object_is_rejected(self, api, organization, ada):
        texts = [b"{", b"nothing", b'{"name": }', b"{'name': 'x'}", b'{"name": "x"} x', b'{"name": NaN}']
        malformed = [*texts, b'{"x": -Infinity}', b"\xff\xfe", b'{"name": "\xff"}', b'{"a":' * 3000]
        problems = dict.fromkeys(malformed, "400 malformed_json")
        problems |= dict.fromkeys((b"[]", b'"x"', b"null", b"7"), "422 validation_failed")
        for body, problem in problems.items():
            for method, path in (("POST", "/organizations"), ("PATCH", organization.path)):
                response = api.request(method, path, caller=ada, body=body, headers=AS_JSON)
                assert response.status_and_code == problem, body
        assert create_organization(api, ada, name="NaN and -Infinity").record["name"] == "NaN and -Infinity"

    def test_the_content_type_is_json_in_any_spelling(self, api, ada):
        unsupported = ["text/plain", "application/x-www-form-urlencoded", "application/merge-patch+json", "json", "*/*"]
        statuses = dict.fromkeys(("", *unsupported), 415)
        statuses |= dict.fromkeys(("application/json", "APPLICATION/JSON", "application/json; charset=utf-8"), 201)
        for content_type, status in statuses.items():
            headers_sent = {"Content-Type": content_type}
            response = api.post("/organizations", caller=ada, body=b'{"name": "x"}', headers=headers_sent)
            assert response.status == status, content_type
            assert status == 201 or response.status_and_code == "415 unsupported_media_type"

    def test_a_body_over_one_mebibyte_is_too_large(self, api, organization, ada):
        name = "x" * (MAX_BODY_BYTES - len('{"name": ""}'))
        for method, path in (("POST", "/organizations"), ("PATCH", organization.path)):
            for longer_name, problem in [
                (name, "422 validation_failed"),
                (f"{name}x", "413 payload_too_large"),
                ("é" * (MAX_BODY_BYTES // 2), "413 payload_too_large"),  # Bytes count, not characters.
            ]:
                response = api.request(method, path, caller=ada, json={"name": longer_name})
                assert response.status_and_code == problem

    def test_a_body_on_a_get_is_ignored(self, api, organization, ada):
        for body, content_type in ((b"{", "application/json"), (b"x" * 2000, "text/plain"), (b"\xff", "image/png")):
            headers_sent = {"Content-Type": content_type}
            response = api.request("GET", organization.path, caller=ada, body=body, headers=headers_sent)
            assert response.json == organization.record

    def test_deep_nesting_and_huge_numbers_are_rejected(self, api, ada):
        for value in (b"[" * 100_000 + b"]" * 100_000, b"1e999", b"9" * 400, b"-" + b"9" * 5000):
            response = api.post("/organizations", caller=ada, body=b'{"name": ' + value + b"}", headers=AS_JSON)
            assert response.status in (400, 422)


def test_the_last_of_repeated_parameters_counts(api, organization, ada):
    response = api.get(f"{organization.path}/members", caller=ada, query={"limit": ["x", "2"]})
    assert len(response.json["items"]) == 2


@pytest.mark.parametrize("version", ["2026-11-19", "1", "", "latest", "2026-11-20, 2026-11-20"])
def test_only_the_current_version_is_accepted_even_without_a_credential(api, ada, version):
    assert API_VERSION == "2026-11-20"
    assert api.get("/organizations", caller=ada, headers={"API-Version": "2026-11-20"}).status == 200
    for path, caller in (("/organizations", ada), ("/status", None), ("/organizations", None)):
        response = api.get(path, caller=caller, headers={"API-Version": version})
        assert response.status_and_code == "400 unknown_api_version"
        assert set(response.errors) == {"header/API-Version"}


def test_the_request_id_of_the_gateway_overrides_that_of_the_client(api, ada):
    response = api.post("/organizations", caller=ada, json={"name": "x"}, headers={"X-Request-Id": "mine"})
    entry = api.get_items(f"{response.location}/audit-log", caller=ada)[0]
    assert entry["context"]["requestId"] == response.request_id == response.headers["X-Request-Id"] != "mine"
    assert api.get("/organizations").json["requestId"]
    assert api.request("OPTIONS", "/organizations").headers["X-Request-Id"]


class TestCors:
    @pytest.mark.parametrize(
        ("method", "path"),
        [("GET", "/status"), ("GET", "/organizations"), ("OPTIONS", "/organizations"), ("PUT", "/status")],
    )
    def test_any_origin_may_call_without_browser_credentials(self, api, method, path):
        response = api.request(method, path, headers={"Origin": "https://app.example"})
        assert response.headers["Access-Control-Allow-Origin"] == "*"
        assert "Access-Control-Allow-Credentials" not in response.headers
        exposed = {name.strip() for name in response.headers["Access-Control-Expose-Headers"].split(",")}
        # Pages may always read Content-Disposition: it is a CORS-safelisted response-header name.
        assert exposed == {*headers.RESPONSE_HEADERS, "Content-Disposition"} - {"Cache-Control"}
        if method == "OPTIONS":
            assert response.text == ""
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


class TestProblems:
    def test_a_problem_has_exactly_the_fields_of_the_contract_and_echoes_no_value(self, api, ada):
        response = api.post("/organizations", caller=ada, json={"name": "x", "slug": "Secret-value"})
        problem = response.json
        identity = {"type": "urn:atrium:problem:validation_failed", "status": 422, "code": "validation_failed"}
        request = {"instance": "/organizations", "requestId": response.request_id}
        texts = {name: problem[name] for name in ("title", "detail", "errors")}
        assert problem == {**identity, **request, **texts}
        (error,) = problem["errors"]
        assert (set(error), error["pointer"]) == ({"pointer", "code", "detail"}, "/slug")
        assert "Secret-value" not in response.text

    @pytest.mark.parametrize("fault", [Fault.THROTTLED, Fault.TIMED_OUT, Fault.INTERNAL_ERROR])
    def test_a_throttled_or_failing_database_is_unavailable(self, api, organization, ada, fault):
        with inject_fault(fault, times=None):
            response = api.get(organization.path, caller=ada)
        assert response.status_and_code == "503 unavailable"
        assert int(response.headers["Retry-After"]) >= 1

    def test_a_queue_failure_does_not_undo_the_commit(self, api, ada, workers, clock, configure, caplog):
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
    def test_public_operations_reject_invalid_credentials_too(self, api, issuer):
        headers_sent = dict.fromkeys(
            ["", "Bearer", "Bearer ", "Basic YTpi", "Bearer a.b.c", "a.b.c"], "unauthenticated"
        )
        headers_sent[f"Bearer {issuer.issue_token(sub='x', exp=1)}"] = "token_expired"
        headers_sent[f"Bearer {issuer.issue_token(sub='')}"] = "unauthenticated"
        for header, code in headers_sent.items():
            for path in ("/status", "/organizations"):
                response = api.get(path, headers={"Authorization": header})
                assert response.status_and_code == f"401 {code}", header
                assert response.headers["WWW-Authenticate"].startswith("Bearer")

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

        assert problem(path, "broken") == "401 unauthenticated"
        assert problem(foreign, key) == "403 forbidden"
        api.delete(f"{organization.path}/api-keys/{key.id}", caller=ada)
        assert problem(foreign, key) == "401 api_key_revoked"
        assert problem(path, stranger) == "404 not_found"
        assert problem(path, mary) == "403 insufficient_role"
        assert problem(path, ada) == "422 validation_failed"
        for missing in ("/organizations/nonsense", "/organizations/by-slug/-", f"{organization.path}/members/nonsense"):
            assert api.get(missing, caller=key).status_and_code == "401 api_key_revoked"

    def test_422_then_412_then_409(self, api, organization, ada):
        create_organization(api, ada, slug="taken")
        path, stale = organization.path, {"If-Match": '"000000000000.9.000000000000"'}
        for method, url, body, problem, later_problem in [
            ("PATCH", path, {"slug": "A"}, "422 validation_failed", "422 validation_failed"),
            ("PATCH", path, {"slug": "taken"}, "412 precondition_failed", "409 slug_taken"),
            ("DELETE", f"{path}/members/{ada.id}", None, "412 precondition_failed", "409 owner_must_transfer"),
            # Validation errors that depend on records take precedence too.
            ("POST", f"{path}/transfer-ownership", {"newOwnerId": organization.id}, "422 validation_failed", None),
            ("PATCH", path, {"status": "pending_deletion"}, "422 validation_failed", None),
        ]:
            assert api.request(method, url, caller=ada, json=body, headers=stale).status_and_code == problem
            if later_problem:
                assert api.request(method, url, caller=ada, json=body).status_and_code == later_problem

    def test_404_precedes_every_error_of_the_body(self, api, stranger, organization):
        for body, content_type in [
            (b"{", "application/json"),
            (b"x", "text/plain"),
            (b"x" * (MAX_BODY_BYTES + 1), "application/json"),
        ]:
            response = api.patch(organization.path, caller=stranger, body=body, headers={"Content-Type": content_type})
            assert response.status_and_code == "404 not_found"


def test_a_response_with_a_secret_is_not_cached(api, organization, ada):
    created = api.post(organization.api_keys_path, caller=ada, json={"name": "Export"})
    assert created.headers["Cache-Control"] == "no-store"
    assert "Cache-Control" not in api.get(created.location, caller=ada).headers
