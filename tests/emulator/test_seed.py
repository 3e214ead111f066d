"""`make run SEED=1`, and a seed of a run that is seeded already."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from local.paths import ROOT
from local.seed.callers import Caller, Json, Service
from local.seed.content.company import OWNER
from local.seed.organization import named
from local.server.issuer import Issuer
from tests.emulator.stage import Stage, environment
from tests.harness.seeded import all_there

pytestmark = [pytest.mark.emulator, pytest.mark.xdist_group("emulator")]

PATIENCE_SECONDS = 30


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Stage]:
    """A run of the test's own, which is seeded."""
    run = Stage(tmp_path / "state").make("SEED=1")
    yield run
    for process in run.processes():
        os.kill(process, signal.SIGKILL)


def until(reached: Callable[[], bool]) -> None:
    """Wait until something is so."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not reached():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def seeded_again(run: Stage) -> str:
    """Return what the command says."""
    command = [sys.executable, "-m", "local", "seed"]
    return subprocess.run(
        command, cwd=ROOT, env=environment(run.state), capture_output=True, text=True, check=True, timeout=60
    ).stdout


def test_a_run_is_seeded_once_and_tells_its_receiver(run: Stage) -> None:
    until(lambda: "curl -s" in run.said.partition("Harrowmere Instruments is there.")[2])
    service = Service.at(run.url, Issuer(run.state / "issuer"))
    with service.http:
        owner = service.called_by(named(OWNER))
        (organization,) = owner.items("/organizations")
        at = f"/organizations/{organization['id']}"
        until(lambda: exported(owner, at))
        before = all_there(service)
        assert seeded_again(run).strip() in run.said
        assert all_there(service) == before

        assert {artefact["source"] for artefact in before["artefacts"]} == {"orcid", "openalex", "dblp"}
        assert all(artefact["outputId"] for artefact in before["artefacts"])
        assert any(output["venueId"] for output in before["outputs"])

        told = run.state / str(run.port) / "receiver.log"
        until(lambda: "organization.audit_export.requested" in told.read_text())
        assert "site.published" in told.read_text()
        living, dead = owner.items(f"{at}/webhooks")
        assert owner.items(f"{at}/webhooks/{living['id']}/deliveries", status="succeeded")
        until(lambda: tried(owner, f"{at}/webhooks/{dead['id']}"))
    run.interrupt()
    assert run.processes_left() == {}


def exported(owner: Caller, at: str) -> bool:
    """Return whether the log's export is made, and all that was done before is in the tree."""
    types = [entry["type"] for entry in owner.items(f"{at}/audit-log") if entry["sequence"] is not None]
    return "organization.audit_export.completed" in types


def tried(owner: Caller, webhook: str) -> bool:
    """Return whether an attempt at somebody who isn't there has failed, and another one is to come."""
    deliveries: list[Json] = owner.items(f"{webhook}/deliveries", status="pending")
    return any(d["attempts"] and d["attempts"][0]["error"] and d["nextAttemptAt"] for d in deliveries)
