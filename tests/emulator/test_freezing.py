"""A process that is frozen between requests, as Lambda freezes it, loses nothing and uses no dead connection."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from local.paths import ROOT
from local.server.emulator import responds
from local.server.run import free_port
from tests.emulator.api_clients import ApiClient
from tests.emulator.forgetful_proxy import ForgetfulProxy
from tests.emulator.local_stage import process_environment
from tests.harness.threaded_servers import serve_in_thread
from tests.harness.waiting import wait_until

pytestmark = [pytest.mark.emulator, pytest.mark.xdist_group("emulator")]

MAX_IDLE_SECONDS: Final = 1
PROGRAM: Final = f"""
import runpy
from chalicelib.kernel.core import idle_connections
idle_connections.MAX_IDLE_SECONDS = {MAX_IDLE_SECONDS}
runpy.run_module("local.server.api", run_name="__main__")
"""
"""The process that serves requests, with a shorter idle time than that of Lambda."""


@dataclass
class FreezableService:
    """A process of the stage that serves requests through a proxy. It is frozen except while a request is sent."""

    state: Path
    url: str
    process: "subprocess.Popen[bytes]"
    proxy: ForgetfulProxy
    headers: Any

    def freeze(self) -> None:
        os.kill(self.process.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        os.kill(self.process.pid, signal.SIGCONT)


@pytest.fixture
def service(stage):
    proxy, port = ForgetfulProxy(stage.emulator_url), free_port()
    variables = {"SETTINGS_FILE": str(stage.settings_file), "AWS_ENDPOINT_URL": proxy.url}
    with serve_in_thread(proxy):
        process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(port)], cwd=ROOT, env=process_environment(stage.state, **variables)
        )
        wait_until(lambda: responds(port, "/status"), 60)
        yield FreezableService(stage.state, f"http://127.0.0.1:{port}", process, proxy, {})
        process.kill()
        process.wait()


def test_requests_after_a_freeze_use_new_connections_and_lose_nothing(service, create_client):
    ada = create_client("ada")
    organization = ada.create_organization()
    created = ada.post(f"/organizations/{organization}/api-keys", json={"name": "Nightly", "scopes": ["admin"]}).json()
    with ApiClient(service, "key", created["key"]) as program:
        response = program.patch(f"/organizations/{organization}", json={"companyName": "Before"})
        service.freeze()
        assert response.status_code == 200, response.text
        key = ada.get(f"/organizations/{organization}/api-keys/{created['id']}").json()
        assert key["lastUsedAt"] is not None  # It is stored when the response arrives.

        for name in ("After", "Again"):
            assert service.proxy.connections > service.proxy.forgotten
            service.proxy.forget_connections()
            time.sleep(MAX_IDLE_SECONDS + 0.5)
            service.thaw()
            response = program.patch(f"/organizations/{organization}", json={"companyName": name})
            service.freeze()
            assert response.status_code == 200, response.text
            assert ada.get(f"/organizations/{organization}").json()["companyName"] == name
    assert service.proxy.resets == 0
