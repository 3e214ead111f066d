"""Users' tokens at the running service: clock differences, and an unreachable issuer."""

import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
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


def test_service_clock_may_be_30_seconds_behind(stage):
    assert _list_organizations(stage, nbf=time.time() + 30, iat=time.time() + 30).status_code == 200
    rejected = _list_organizations(stage, nbf=time.time() + 90, iat=time.time() + 90)
    assert (rejected.status_code, rejected.json()["code"]) == (401, "unauthenticated")
    assert rejected.headers["WWW-Authenticate"] == "Bearer"


def test_service_clock_may_be_30_seconds_ahead(stage):
    assert _list_organizations(stage, exp=time.time() - 30).status_code == 200
    rejected = _list_organizations(stage, exp=time.time() - 90)
    assert (rejected.status_code, rejected.json()["code"]) == (401, "token_expired")


def _list_organizations(stage: LocalStage, **claims: Any) -> httpx.Response:
    token = sign_token(stage, Person("ada"), **claims)
    with ApiClient(stage, "ada", token) as ada:
        return ada.get("/organizations")


class _QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        """Write no log."""


def _serve_folder(folder: Path, port: int) -> AbstractContextManager[None]:
    return serve_in_thread(ThreadingHTTPServer(("127.0.0.1", port), partial(_QuietHandler, directory=str(folder))))


@pytest.fixture(scope="module")
def keys_port() -> int:
    return free_port()


@pytest.fixture(scope="module")
def stage_with_remote_keys(tmp_path_factory: pytest.TempPathFactory, keys_port: int) -> Iterator[LocalStage]:
    """A stage that fetches its issuer's keys from a server that is not running yet."""
    keys = {"AUTH_JWKS": f"http://127.0.0.1:{keys_port}/jwks.json"}
    stage = LocalStage(tmp_path_factory.mktemp("trusting"), environment_overrides=keys).start()
    yield stage
    assert stage.terminate() == 0
    assert stage.remaining_processes() == {}


def test_issuer_keys_are_fetched_when_available_and_cached(stage_with_remote_keys, keys_port):
    with ExitStack() as key_server, ApiClient(stage_with_remote_keys, "ada") as ada:
        rejected = ada.get("/organizations")
        assert (rejected.status_code, rejected.json()["code"]) == (503, "unavailable")
        assert int(rejected.headers["Retry-After"]) > 0
        assert httpx.get(f"{stage_with_remote_keys.url}/status", trust_env=False).json()["status"] == "ok"

        key_server.enter_context(_serve_folder(stage_with_remote_keys.state / "issuer", keys_port))
        wait_until(lambda: ada.get("/organizations").is_success)
        organization = ada.create_organization()

        key_server.close()
        with pytest.raises(httpx.ConnectError):
            httpx.get(f"http://127.0.0.1:{keys_port}/jwks.json", trust_env=False)
        assert ada.patch(f"/organizations/{organization}", json={"name": "Still here"}).is_success
        with ApiClient(
            stage_with_remote_keys, "eve", sign_token(stage_with_remote_keys, Person("eve"), kid="unknown")
        ) as eve:
            rejected = eve.get("/organizations")
            assert (rejected.status_code, rejected.json()["code"]) == (401, "unauthenticated")
        assert len(read_verified_log(ada, organization)) == 2


def test_two_stages_on_one_machine_are_isolated(stage_with_remote_keys, keys_port, create_client):
    with (
        _serve_folder(stage_with_remote_keys.state / "issuer", keys_port),
        ApiClient(stage_with_remote_keys, "ada") as other_caller,
    ):
        wait_until(lambda: other_caller.get("/organizations").is_success)
        caller = create_client("ada")
        path = f"/organizations/{caller.create_organization()}"
        assert caller.get(path).status_code == 200
        assert other_caller.get("/organizations").json()["items"] == []
        assert other_caller.get(path).status_code == 404
        assert other_caller.get(path, headers={"Authorization": f"Bearer {caller.token}"}).status_code == 401
