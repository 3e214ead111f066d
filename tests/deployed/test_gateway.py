"""Responses of the gateway of a deployed stage, and the modules that its functions load."""

import json
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from chalicelib.kernel.core.version import API_VERSION
from local.paths import ROOT
from tests.deployed.deployment import Deployment
from tests.deployed.lambda_runtime import RUNTIME_MODULES, list_installed_modules
from tests.emulator.api_clients import ApiClient

pytestmark = [pytest.mark.emulator, pytest.mark.xdist_group("deployed")]

MAX_BYTES = 1024 * 1024


@pytest.fixture(scope="module")
def ada(stage: Deployment) -> Iterator[ApiClient]:
    with ApiClient(stage, "ada") as ada:
        yield ada


def test_functions_use_only_the_package_and_the_lambda_runtime(stage, ada):
    assert ada.get("/status").json()["status"] == "ok"
    assert list_installed_modules(stage.account.python) == sorted(RUNTIME_MODULES)
    processes = stage.account.list_function_processes()
    assert processes
    for process in processes:
        mapped_files = {
            line.split()[-1] for line in Path(f"/proc/{process}/maps").read_text().splitlines() if "/" in line
        }
        foreign_files = [file for file in mapped_files if "site-packages" in file or str(ROOT) in file]
        assert foreign_files == []
        assert any("pydantic_core" in file and str(stage.state) in file for file in mapped_files)


def problem_code(response: httpx.Response) -> str:
    """Assert that a response is a complete problem of the service, and return its status and code."""
    assert response.headers["Content-Type"] == "application/problem+json"
    assert response.headers["API-Version"] == API_VERSION
    assert response.headers["Access-Control-Allow-Origin"] == "*"
    document = response.json()
    assert (document["status"], document["requestId"]) == (response.status_code, response.headers["X-Request-Id"])
    return f"{response.status_code} {document['code']}"


def test_unknown_path_and_method_are_problems(ada):
    assert problem_code(ada.get("/organisations")) == "404 not_found"
    assert problem_code(ada.request("PUT", "/organizations")) == "404 not_found"


def test_responses_contain_rate_limit_headers(stage):
    with ApiClient(stage, "grace") as grace:
        response_headers = [grace.get("/organizations").headers for _ in range(2)]
    assert [headers["RateLimit-Policy"] for headers in response_headers] == ['"requests";q=600;w=60'] * 2
    assert all(headers["RateLimit"].startswith('"requests";r=59') for headers in response_headers)


def test_oversized_body_and_unsupported_media_type_are_problems(ada):
    large = json.dumps({"name": "x" * MAX_BYTES})
    headers = {"Content-Type": "application/json"}
    assert problem_code(ada.post("/organizations", content=large, headers=headers)) == "413 payload_too_large"
    response = ada.post("/organizations", content="name=x", headers={"Content-Type": "text/plain"})
    assert problem_code(response) == "415 unsupported_media_type"


def test_anonymous_request_is_challenged(stage):
    response = httpx.get(f"{stage.url}/organizations", headers=stage.headers)
    assert problem_code(response) == "401 unauthenticated"
    assert response.headers["WWW-Authenticate"].startswith("Bearer")


def test_cors_preflight_is_allowed(stage):
    preflight_headers = {"Origin": "https://shop.example.com", "Access-Control-Request-Method": "POST"}
    response = httpx.options(f"{stage.url}/organizations", headers={**stage.headers, **preflight_headers})
    assert response.is_success
    assert response.headers["Access-Control-Allow-Origin"] == "*"
    assert "POST" in response.headers["Access-Control-Allow-Methods"]
    assert "Authorization" in response.headers["Access-Control-Allow-Headers"]


def test_stale_precondition_is_rejected(ada):
    path = f"/organizations/{ada.create_organization()}"
    precondition = {"If-Match": ada.get(path).headers["ETag"]}
    assert ada.patch(path, json={"companyCountry": "GB"}, headers=precondition).json()["version"] == 2
    assert (
        problem_code(ada.patch(path, json={"companyCountry": "FR"}, headers=precondition)) == "412 precondition_failed"
    )
