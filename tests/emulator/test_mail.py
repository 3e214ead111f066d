"""Mail of the running service: sent by its workers, read by whoever runs it, answered by whom it invites."""

import re
import subprocess
import sys

import pytest

from local.paths import ROOT
from tests.emulator.conftest import Calling
from tests.emulator.stage import Stage, environment
from tests.harness.waiting import until

pytestmark = [pytest.mark.emulator, pytest.mark.xdist_group("emulator")]


def mail_to(address: str, stage: Stage) -> list[str]:
    """Return what the command prints of the mail to an address, the newest first."""
    command = [sys.executable, "-m", "local", "mail"]
    told = environment(stage.state)
    done = subprocess.run(command, cwd=ROOT, env=told, capture_output=True, text=True, check=False)
    return [mail for mail in done.stdout.split("-" * 72) if f"To:      {address}\n" in mail]


def test_an_invitation_is_accepted_by_the_link_in_its_mail(stage: Stage, calling: Calling) -> None:
    ada, katherine = calling("ada"), calling("katherine")
    organization = ada.makes_organization("Analytical Engines")
    asked = {"email": "Katherine@example.com", "role": "editor", "message": "Bring a slide rule."}
    assert ada.post(f"/organizations/{organization}/invite", json=asked).status_code == 201
    until(lambda: mail_to("katherine@example.com", stage) != [])

    (mail,) = mail_to("katherine@example.com", stage)
    assert "Subject: ada invites you to Analytical Engines\n" in mail
    assert "Bring a slide rule." not in mail  # The organization is new.
    (link,) = re.findall(r"^http\S+$", mail, flags=re.MULTILINE)
    accepted = katherine.get(f"{link}&decision=accept").json()
    assert (accepted["status"], accepted["membership"]["role"]) == ("accepted", "editor")
    assert katherine.get(f"/organizations/{organization}").json()["name"] == "Analytical Engines"
