"""`make run`: start, stop, the data that it keeps, and the sample company."""

import gzip
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

from benchmarks.soak.document import PROMISES
from chalicelib.kernel.http.request import REMAPPED_WWW_AUTHENTICATE
from local.paths import ROOT
from local.seed.callers import Service
from local.seed.content.company import OWNER
from local.seed.organization import person_by_username
from local.server.emulator import responds
from local.server.issuer import Issuer, Person
from local.server.run import free_port
from tests.emulator.api_clients import ApiClient, sign_token
from tests.emulator.local_stage import LocalStage, process_environment, run_local_command
from tests.emulator.log_reader import read_verified_log
from tests.harness.project_copies import copy_project
from tests.harness.receiver import Receiver, Reply
from tests.harness.seeded_service import read_all_records
from tests.harness.waiting import wait_until

pytestmark = [pytest.mark.emulator, pytest.mark.xdist_group("emulator")]

NAMES = [f"Name {n}" for n in range(10)]


def test_stage_is_ready_soon(stage, record_property):
    record_property("seconds until ready", round(stage.ready_after_seconds, 2))
    assert stage.ready_after_seconds < 40  # It takes less than 10 s on two idle cores.


def test_responses_arrive_as_through_api_gateway(stage):
    with httpx.stream("GET", f"{stage.url}/openapi.json", headers={"Accept-Encoding": "gzip"}) as compressed:
        content = b"".join(compressed.iter_raw())
    plain = httpx.get(f"{stage.url}/openapi.json", headers={"Accept-Encoding": "identity"})
    assert compressed.headers["Content-Encoding"] == "gzip"
    assert len(content) < len(plain.content) / 5
    assert gzip.decompress(content) == plain.content
    assert compressed.headers["ETag"] == plain.headers["ETag"]
    assert "Accept-Encoding" in compressed.headers["Vary"]
    anonymous = httpx.get(f"{stage.url}/organizations")
    assert (anonymous.status_code, anonymous.headers[REMAPPED_WWW_AUTHENTICATE]) == (401, "Bearer")
    assert REMAPPED_WWW_AUTHENTICATE in anonymous.headers["Access-Control-Expose-Headers"]
    assert "WWW-Authenticate" not in anonymous.headers


@pytest.fixture(scope="module")
def stopped(tmp_path_factory):
    """A stage that Ctrl-C stopped, a caller, and the id of an organization of theirs that has changed ten times."""
    stage = LocalStage(tmp_path_factory.mktemp("kept") / "state").start_with_make()
    with ApiClient(stage, "ada") as ada:
        organization = ada.create_organization()
        for name in NAMES:
            assert ada.patch(f"/organizations/{organization}", json={"name": name}).is_success
        stage.interrupt()
        assert stage.remaining_processes() == {}
        yield stage, ada, organization
    for process in stage.list_processes():
        os.kill(process, signal.SIGKILL)


def find_process(stage, module):
    (process,) = (n for n, command in stage.list_processes().items() if f"python -m {module}" in command)
    return process


@pytest.mark.exhaustive
def test_data_survives_ctrl_c_and_a_stage_ends_and_names_a_process_that_died(stopped, tmp_path):
    stage, ada, organization = stopped
    stage.start()
    assert len(stage.list_processes()) == 7
    assert ada.get(f"/organizations/{organization}").json()["name"] == NAMES[-1]
    assert [entry["data"]["name"] for entry in read_verified_log(ada, organization)[1:]] == NAMES
    create_organization_with_chalice_local(stage.emulator_url, tmp_path)
    os.kill(find_process(stage, "local.server.event_source_emulator"), signal.SIGKILL)
    assert stage.wait_for_exit() == 1
    assert "The worker ended unexpectedly (exit code -9)" in stage.output
    assert stage.remaining_processes() == {}


@pytest.mark.exhaustive
def test_fresh_stage_is_seeded_once_and_leaves_no_processes_when_it_is_killed(stopped):
    stage, ada, organization = stopped
    stage.start_with_make("FRESH=1", "SEED=1")
    assert ada.get("/organizations").json()["items"] == []
    assert ada.get(f"/organizations/{organization}").status_code == 404

    wait_until(lambda: "curl -s" in stage.output.partition("Harrowmere Instruments is ready.")[2], 180)
    service = Service.at_url(stage.url, Issuer(stage.state / "issuer"))
    with service.http:
        owner = service.caller_for(person_by_username(OWNER))
        (seeded,) = owner.list_all("/organizations")
        path = f"/organizations/{seeded['id']}"
        wait_until(lambda: is_export_completed(owner, path), 180, interval_seconds=0.2)
        before = read_all_records(service)
        assert run_local_command(stage.state, "seed").stdout.strip() in stage.output
        assert read_all_records(service) == before
        assert {artefact["source"] for artefact in before["artefacts"]} == {"orcid", "openalex", "dblp"}
        assert all(artefact["outputId"] for artefact in before["artefacts"])
        assert any(output["venueId"] for output in before["outputs"])

        receiver_log = stage.state / str(stage.port) / "receiver.log"
        wait_until(lambda: "organization.audit_export.requested" in receiver_log.read_text())
        assert "site.published" in receiver_log.read_text()
        responsive, unresponsive = (f"{path}/webhooks/{w['id']}" for w in owner.list_all(f"{path}/webhooks"))
        assert owner.list_all(f"{responsive}/deliveries", status="succeeded")
        wait_until(lambda: has_failed_attempt(owner, unresponsive), 180, interval_seconds=0.2)
    os.kill(find_process(stage, "local run"), signal.SIGKILL)
    assert stage.wait_for_exit() != 0
    assert stage.remaining_processes(seconds=30) == {}


def is_export_completed(owner, path):
    entries = owner.list_all(f"{path}/audit-log")
    return any(e["type"] == "organization.audit_export.completed" and e["sequence"] is not None for e in entries)


def has_failed_attempt(owner, webhook):
    """Return whether a delivery to an unreachable endpoint has failed and will be retried."""
    deliveries = owner.list_all(f"{webhook}/deliveries", status="pending")
    return any(d["attempts"] and d["attempts"][0]["error"] and d["nextAttemptAt"] for d in deliveries)


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

        with Receiver(port=port) as issuer:
            issuer.default_reply = Reply(body=(tmp_path / "issuer" / "jwks.json").read_bytes())
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


def create_organization_with_chalice_local(emulator_url, folder):
    """Serve the app by `chalice local` against a running emulator, and create an organization."""
    copy_project((".chalice", "app.py", "chalicelib", "infrastructure", "local", "openapi.json"), folder, "deploy*")
    standalone = LocalStage(folder / ".local")
    options: Any = {"cwd": folder, "env": process_environment(standalone.state)}
    provision = [sys.executable, "-m", "local", "provision", "--endpoint", emulator_url]
    subprocess.run(provision, capture_output=True, check=True, **options)

    # Without --no-autoreload a second process would serve, and restart with every change of a file.
    chalice = [str(Path(sys.executable).parent / "chalice"), "local", "--stage", "local", "--no-autoreload"]
    with (folder / "chalice.log").open("wb") as log, ApiClient(standalone, "ada") as ada:
        process = subprocess.Popen([*chalice, "--port", str(standalone.port)], stdout=log, stderr=log, **options)
        try:
            wait_until(lambda: responds(standalone.port, "/status"), timeout_seconds=120, interval_seconds=0.05)
            organization = ada.create_organization()
            assert ada.get("/organizations").json()["items"][0]["id"] == organization
        finally:
            process.kill()
            process.wait()


@pytest.mark.exhaustive
def test_short_soak_passes_all_checks():
    options = ["--minutes=0.2", "--tenants=2", "--kills", "3", "5", "--no-keep", "--seed=1"]
    command = [sys.executable, "-m", "benchmarks.soak", *options]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert result.returncode == 0, result.stdout[-4000:] + result.stderr[-4000:]
    for promise in PROMISES.values():
        assert f"| {promise} | yes |" in result.stdout
