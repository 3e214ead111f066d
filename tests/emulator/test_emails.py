"""Emails of the running service: sent by its workers, and read by a command of the local stage."""

import re
import subprocess
import sys

import pytest

from local.paths import ROOT
from tests.emulator.local_stage import LocalStage, process_environment
from tests.harness.waiting import wait_until

pytestmark = [pytest.mark.emulator, pytest.mark.xdist_group("emulator")]


def emails_to(email_address: str, stage: LocalStage) -> list[str]:
    """Return the emails to an address as the command prints them, the newest first."""
    command = [sys.executable, "-m", "local", "mail"]
    environ = process_environment(stage.state)
    result = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, check=False)
    return [email for email in result.stdout.split("-" * 72) if f"To:      {email_address}\n" in email]


def test_invitation_is_accepted_by_the_link_in_its_email(stage, create_client):
    ada, katherine = create_client("ada"), create_client("katherine")
    organization = ada.create_organization("Analytical Engines")
    body = {"email": "Katherine@example.com", "role": "editor", "message": "Bring a slide rule."}
    assert ada.post(f"/organizations/{organization}/invite", json=body).status_code == 201
    wait_until(lambda: emails_to("katherine@example.com", stage) != [])

    (email,) = emails_to("katherine@example.com", stage)
    assert "Subject: ada invites you to Analytical Engines\n" in email
    assert "Bring a slide rule." not in email  # The organization is new.
    (link,) = re.findall(r"^http\S+$", email, flags=re.MULTILINE)
    acceptance = katherine.get(f"{link}&decision=accept").json()
    assert (acceptance["status"], acceptance["membership"]["role"]) == ("accepted", "editor")
    assert katherine.get(f"/organizations/{organization}").json()["name"] == "Analytical Engines"
