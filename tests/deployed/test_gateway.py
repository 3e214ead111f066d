"""Responses of the gateway of a deployed stage, and the modules that its functions load."""

import json
from pathlib import Path

import httpx
import pytest

from chalicelib.kernel.core.version import API_VERSION
from local.paths import ROOT
from tests.deployed.emulated_account import RUNTIME_MODULES, list_installed_modules
from tests.emulator.api_clients import ApiClient
from tests.harness.challenges import get_challenge

pytestmark = [pytest.mark.emulator, pytest.mark.exhaustive, pytest.mark.xdist_group("deployed")]

MAX_BYTES = 1024 * 1024


@pytest.fixture(scope="module")
def ada(stage):
    with ApiClient(stage, "ada") as ada:
        yield ada


def test_functions_use_only_the_package_and_the_lambda_runtime(stage, ada):
    assert ada.get("/status").json()["status"] == "ok"
    assert list_installed_modules(stage.account.python) == sorted(RUNTIME_MODULES)
    processes = stage.account.list_function_processes()
    assert processes
    for process in processes:
        lines = Path(f"/proc/{process}/maps").read_text().splitlines()
        mapped_files = {line.split()[-1] for line in lines if "/" in line}
        assert [file for file in mapped_files if "site-packages" in file or str(ROOT) in file] == []
        assert any("pydantic_core" in file and str(stage.state) in file for file in mapped_files)


def problem_code(response):
    """Assert that a response is a complete problem of the service, and return its status and code."""
    assert response.headers["Content-Type"] == "application/problem+json"
    assert response.headers["API-Version"] == API_VERSION
    assert response.headers["Access-Control-Allow-Origin"] == "*"
    document = response.json()
    assert (document["status"], document["requestId"]) == (response.status_code, response.headers["X-Request-Id"])
    return f"{response.status_code} {document['code']}"


def test_errors_of_the_gateway_and_the_service_are_problems(stage, ada):
    json_type, text_type = ({"Content-Type": kind} for kind in ("application/json", "text/plain"))
    large = json.dumps({"name": "x" * MAX_BYTES})
    path = f"/organizations/{ada.create_organization()}"
    stale = {"If-Match": ada.get(path).headers["ETag"]}
    assert ada.patch(path, json={"companyCountry": "GB"}, headers=stale).json()["version"] == 2
    for response, expected in (
        (ada.get("/organisations"), "404 no_such_route"),
        (ada.request("PUT", "/organizations"), "404 no_such_route"),
        (ada.post("/organizations", content=large, headers=json_type), "413 payload_too_large"),
        (ada.post("/organizations", content="name=x", headers=text_type), "415 unsupported_media_type"),
        (ada.patch(path, json={"companyCountry": "FR"}, headers=stale), "412 precondition_failed"),
        (anonymous := httpx.get(f"{stage.url}/organizations", headers=stage.headers), "401 unauthenticated"),
    ):
        assert problem_code(response) == expected
    assert get_challenge(anonymous.headers) == "Bearer"


def test_responses_contain_rate_limit_headers(stage):
    with ApiClient(stage, "grace") as grace:
        for _ in range(2):
            headers = grace.get("/organizations").headers
            assert headers["RateLimit-Policy"] == '"requests";q=600;w=60'
            assert headers["RateLimit"].startswith('"requests";r=59')


def test_cors_preflight_is_allowed(stage):
    preflight_headers = {"Origin": "https://shop.example.com", "Access-Control-Request-Method": "POST"}
    response = httpx.options(f"{stage.url}/organizations", headers={**stage.headers, **preflight_headers})
    assert response.is_success
    assert response.headers["Access-Control-Allow-Origin"] == "*"
    assert "POST" in response.headers["Access-Control-Allow-Methods"]
    assert "Authorization" in response.headers["Access-Control-Allow-Headers"]
