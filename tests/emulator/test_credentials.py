"""Users' tokens at the running service: clock differences, and an unreachable issuer."""

import time
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx
import pytest

from local.server.issuer import Person
from local.server.run import free_port
from tests.emulator.api_clients import ApiClient, sign_token
from tests.emulator.local_stage import LocalStage
from tests.emulator.log_reader import read_verified_log
from tests.harness.threaded_servers import serve_in_thread
from tests.harness.waiting import wait_until

pytestmark = [pytest.mark.emulator, pytest.mark.xdist_group("emulator")]


@pytest.mark.parametrize(
    ("claims", "sign", "code"), [(("nbf", "iat"), 1, "unauthenticated"), (("exp",), -1, "token_expired")]
)
def test_service_clock_may_be_30_seconds_behind_or_ahead(claims, sign, code, stage):
    assert list_organizations(stage, **dict.fromkeys(claims, time.time() + sign * 30)).status_code == 200
    rejected = list_organizations(stage, **dict.fromkeys(claims, time.time() + sign * 90))
    assert (rejected.status_code, rejected.json()["code"]) == (401, code)
    assert rejected.headers["WWW-Authenticate"] == "Bearer"


def list_organizations(stage, **claims: Any):
    token = sign_token(stage, Person("ada"), **claims)
    with ApiClient(stage, "ada", token) as ada:
        return ada.get("/organizations")


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        """Write no log."""


@pytest.mark.exhaustive
def test_issuer_keys_are_fetched_when_available_and_cached_and_two_stages_are_isolated(tmp_path, create_client):
    port = free_port()
    jwks = f"http://127.0.0.1:{port}/jwks.json"
    stage = LocalStage(tmp_path, environment_overrides={"AUTH_JWKS": jwks}).start()
    with ApiClient(stage, "ada") as ada:
        rejected = ada.get("/organizations")
        assert (rejected.status_code, rejected.json()["code"]) == (503, "unavailable")
        assert int(rejected.headers["Retry-After"]) > 0
        assert httpx.get(f"{stage.url}/status", trust_env=False).json()["status"] == "ok"

        handler = partial(QuietHandler, directory=str(tmp_path / "issuer"))
        with serve_in_thread(ThreadingHTTPServer(("127.0.0.1", port), handler)):
            wait_until(lambda: ada.get("/organizations").is_success, interval_seconds=0.1)
            organization = ada.create_organization()

        with pytest.raises(httpx.ConnectError):
            httpx.get(jwks, trust_env=False)
        assert ada.patch(f"/organizations/{organization}", json={"name": "Still here"}).is_success
        with ApiClient(stage, "eve", sign_token(stage, Person("eve"), kid="unknown")) as eve:
            rejected = eve.get("/organizations")
            assert (rejected.status_code, rejected.json()["code"]) == (401, "unauthenticated")
        assert len(read_verified_log(ada, organization)) == 2

        caller = create_client("ada")  # of another stage
        path = f"/organizations/{caller.create_organization()}"
        assert caller.get(path).status_code == 200
        assert [record["id"] for record in ada.get("/organizations").json()["items"]] == [organization]
        assert ada.get(path).status_code == 404
        assert ada.get(path, headers={"Authorization": f"Bearer {caller.token}"}).status_code == 401
    assert stage.terminate() == 0
    assert stage.remaining_processes() == {}
