"""Users' tokens at the running service: clocks that differ, and an issuer that can't be reached."""

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
from tests.emulator.conftest import Calling
from tests.emulator.outside import whole_log
from tests.emulator.people import Caller, signed
from tests.emulator.stage import Stage
from tests.harness.threaded_servers import serving
from tests.harness.waiting import until

pytestmark = [pytest.mark.emulator, pytest.mark.xdist_group("emulator")]


def test_a_clock_may_be_half_a_minute_behind(stage: Stage) -> None:
    assert _listing(stage, nbf=time.time() + 30, iat=time.time() + 30).status_code == 200
    refused = _listing(stage, nbf=time.time() + 90, iat=time.time() + 90)
    assert (refused.status_code, refused.json()["code"]) == (401, "unauthenticated")
    assert refused.headers["WWW-Authenticate"] == "Bearer"


def test_a_clock_may_be_half_a_minute_ahead(stage: Stage) -> None:
    assert _listing(stage, exp=time.time() - 30).status_code == 200
    refused = _listing(stage, exp=time.time() - 90)
    assert (refused.status_code, refused.json()["code"]) == (401, "token_expired")


def _listing(stage: Stage, **claims: Any) -> httpx.Response:
    token = signed(stage, Person("ada"), **claims)
    with Caller(stage, "ada", token) as ada:
        return ada.get("/organizations")


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        """Say nothing."""


def _serving(folder: Path, port: int) -> AbstractContextManager[None]:
    return serving(ThreadingHTTPServer(("127.0.0.1", port), partial(_Quiet, directory=str(folder))))


@pytest.fixture(scope="module")
def keys_port() -> int:
    return free_port()


@pytest.fixture(scope="module")
def trusting(tmp_path_factory: pytest.TempPathFactory, keys_port: int) -> Iterator[Stage]:
    """A service that fetches its issuer's keys from where nobody listens yet."""
    keys = {"AUTH_JWKS": f"http://127.0.0.1:{keys_port}/jwks.json"}
    stage = Stage(tmp_path_factory.mktemp("trusting"), told=keys).start()
    yield stage
    assert stage.terminate() == 0
    assert stage.processes_left() == {}


def test_without_the_issuers_keys_nobody_is_known_until_they_are_there_and_then_they_stay(
    trusting: Stage, keys_port: int
) -> None:
    with ExitStack() as served, Caller(trusting, "ada") as ada:
        refused = ada.get("/organizations")
        assert (refused.status_code, refused.json()["code"]) == (503, "unavailable")
        assert int(refused.headers["Retry-After"]) > 0
        assert httpx.get(f"{trusting.url}/status", trust_env=False).json()["status"] == "ok"

        served.enter_context(_serving(trusting.state / "issuer", keys_port))
        until(lambda: ada.get("/organizations").is_success)
        organization = ada.makes_organization()

        served.close()
        with pytest.raises(httpx.ConnectError):
            httpx.get(f"http://127.0.0.1:{keys_port}/jwks.json", trust_env=False)
        assert ada.patch(f"/organizations/{organization}", json={"name": "Still here"}).is_success
        with Caller(trusting, "eve", signed(trusting, Person("eve"), kid="unknown")) as eve:
            refused = eve.get("/organizations")
            assert (refused.status_code, refused.json()["code"]) == (401, "unauthenticated")
        assert len(whole_log(ada, organization)) == 2


def test_two_services_side_by_side_know_nothing_of_each_other(
    trusting: Stage, keys_port: int, calling: Calling
) -> None:
    with _serving(trusting.state / "issuer", keys_port), Caller(trusting, "ada") as there:
        until(lambda: there.get("/organizations").is_success)
        here = calling("ada")
        path = f"/organizations/{here.makes_organization()}"
        assert here.get(path).status_code == 200
        assert there.get("/organizations").json()["items"] == []
        assert there.get(path).status_code == 404
        assert there.get(path, headers={"Authorization": f"Bearer {here.token}"}).status_code == 401
