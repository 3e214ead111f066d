"""What a deployed stage answers before and beside its operations, and that it runs on the package alone."""

import json
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from chalicelib.kernel.core.version import API_VERSION
from local.paths import ROOT
from tests.deployed.deployment import Deployment
from tests.deployed.runtime import PROVIDED, installed
from tests.emulator.people import Caller

pytestmark = [pytest.mark.emulator, pytest.mark.xdist_group("deployed")]

MOST_BYTES = 1024 * 1024


@pytest.fixture(scope="module")
def ada(stage: Deployment) -> Iterator[Caller]:
    with Caller(stage, "ada") as ada:
        yield ada


def test_functions_have_the_package_and_what_lambda_has_and_nothing_else(stage: Deployment, ada: Caller) -> None:
    assert ada.get("/status").json()["status"] == "ok"
    assert installed(stage.account.python) == sorted(PROVIDED)
    processes = stage.account.functions()
    assert processes
    for process in processes:
        loaded = {line.split()[-1] for line in Path(f"/proc/{process}/maps").read_text().splitlines() if "/" in line}
        compiled = [file for file in loaded if "site-packages" in file or str(ROOT) in file]
        assert compiled == []
        assert any("pydantic_core" in file and str(stage.state) in file for file in loaded)


def problem(answer: httpx.Response) -> str:
    """Return the code of a problem, which has all that the service's problems have."""
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert answer.headers["API-Version"] == API_VERSION
    assert answer.headers["Access-Control-Allow-Origin"] == "*"
    document = answer.json()
    assert (document["status"], document["requestId"]) == (answer.status_code, answer.headers["X-Request-Id"])
    return f"{answer.status_code} {document['code']}"


def test_an_unknown_path_and_an_unknown_method_are_problems(ada: Caller) -> None:
    assert problem(ada.get("/organisations")) == "404 not_found"
    assert problem(ada.request("PUT", "/organizations")) == "404 not_found"


def test_answers_say_how_many_requests_are_left_of_the_minute(stage: Deployment) -> None:
    with Caller(stage, "grace") as grace:
        said = [grace.get("/organizations").headers for _ in range(2)]
    assert [headers["RateLimit-Policy"] for headers in said] == ['"requests";q=600;w=60'] * 2
    assert all(headers["RateLimit"].startswith('"requests";r=59') for headers in said)


def test_what_is_too_large_or_of_another_type_is_a_problem(ada: Caller) -> None:
    large = json.dumps({"name": "x" * MOST_BYTES})
    kind = {"Content-Type": "application/json"}
    assert problem(ada.post("/organizations", content=large, headers=kind)) == "413 payload_too_large"
    wrong = ada.post("/organizations", content="name=x", headers={"Content-Type": "text/plain"})
    assert problem(wrong) == "415 unsupported_media_type"


def test_a_stranger_is_told_to_sign_in(stage: Deployment) -> None:
    answer = httpx.get(f"{stage.url}/organizations", headers=stage.headers)
    assert problem(answer) == "401 unauthenticated"
    assert answer.headers["WWW-Authenticate"].startswith("Bearer")


def test_a_page_of_another_origin_may_call_it(stage: Deployment) -> None:
    asked = {"Origin": "https://shop.example.com", "Access-Control-Request-Method": "POST"}
    answer = httpx.options(f"{stage.url}/organizations", headers={**stage.headers, **asked})
    assert answer.is_success
    assert answer.headers["Access-Control-Allow-Origin"] == "*"
    assert "POST" in answer.headers["Access-Control-Allow-Methods"]
    assert "Authorization" in answer.headers["Access-Control-Allow-Headers"]


def test_a_condition_that_does_not_hold_is_refused(ada: Caller) -> None:
    path = f"/organizations/{ada.makes_organization()}"
    tag = {"If-Match": ada.get(path).headers["ETag"]}
    assert ada.patch(path, json={"companyCountry": "GB"}, headers=tag).json()["version"] == 2
    assert problem(ada.patch(path, json={"companyCountry": "FR"}, headers=tag)) == "412 precondition_failed"
