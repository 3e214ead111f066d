"""`make run SEED=1`, and seeding a stage that is already seeded."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from local.paths import ROOT
from local.seed.callers import Caller, Json, Service
from local.seed.content.company import OWNER
from local.seed.organization import person_by_username
from local.server.issuer import Issuer
from tests.emulator.local_stage import LocalStage, process_environment
from tests.harness.seeded_service import read_all_records
from tests.harness.waiting import wait_until

pytestmark = [pytest.mark.emulator, pytest.mark.xdist_group("emulator")]


@pytest.fixture
def seeded_stage(tmp_path: Path) -> Iterator[LocalStage]:
    """A seeded stage for one test, which is killed afterwards."""
    seeded_stage = LocalStage(tmp_path / "state").start_with_make("SEED=1")
    yield seeded_stage
    for process in seeded_stage.list_processes():
        os.kill(process, signal.SIGKILL)


def seed_again(seeded_stage: LocalStage) -> str:
    """Run the seed command and return its output."""
    command = [sys.executable, "-m", "local", "seed"]
    return subprocess.run(
        command,
        cwd=ROOT,
        env=process_environment(seeded_stage.state),
        capture_output=True,
        text=True,
        check=True,
        timeout=240,
    ).stdout


def test_stage_is_seeded_once_and_delivers_events_to_the_receiver(seeded_stage):
    wait_until(lambda: "curl -s" in seeded_stage.output.partition("Harrowmere Instruments is ready.")[2])
    service = Service.at_url(seeded_stage.url, Issuer(seeded_stage.state / "issuer"))
    with service.http:
        owner = service.caller_for(person_by_username(OWNER))
        (organization,) = owner.list_all("/organizations")
        organization_path = f"/organizations/{organization['id']}"
        wait_until(lambda: is_export_completed(owner, organization_path))
        before = read_all_records(service)
        assert seed_again(seeded_stage).strip() in seeded_stage.output
        assert read_all_records(service) == before

        assert {artefact["source"] for artefact in before["artefacts"]} == {"orcid", "openalex", "dblp"}
        assert all(artefact["outputId"] for artefact in before["artefacts"])
        assert any(output["venueId"] for output in before["outputs"])

        receiver_log = seeded_stage.state / str(seeded_stage.port) / "receiver.log"
        wait_until(lambda: "organization.audit_export.requested" in receiver_log.read_text())
        assert "site.published" in receiver_log.read_text()
        responsive_webhook, unresponsive_webhook = owner.list_all(f"{organization_path}/webhooks")
        assert owner.list_all(f"{organization_path}/webhooks/{responsive_webhook['id']}/deliveries", status="succeeded")
        wait_until(lambda: has_failed_attempt(owner, f"{organization_path}/webhooks/{unresponsive_webhook['id']}"))
    seeded_stage.interrupt()
    assert seeded_stage.remaining_processes() == {}


def is_export_completed(owner: Caller, organization_path: str) -> bool:
    """Return whether the log's export is completed and its entry appended."""
    types = [
        entry["type"] for entry in owner.list_all(f"{organization_path}/audit-log") if entry["sequence"] is not None
    ]
    return "organization.audit_export.completed" in types


def has_failed_attempt(owner: Caller, webhook: str) -> bool:
    """Return whether a delivery to an unreachable endpoint has failed and will be retried."""
    deliveries: list[Json] = owner.list_all(f"{webhook}/deliveries", status="pending")
    return any(d["attempts"] and d["attempts"][0]["error"] and d["nextAttemptAt"] for d in deliveries)
