"""What the tests of logs share, those of webhooks and channels, and those of what spaces have."""

import pytest

from chalicelib.features.audit import log as logs
from chalicelib.kernel import outgoing
from tests.conftest import Configure
from tests.harness.api import Api
from tests.harness.callers import Person
from tests.harness.organizations import Founded, found
from tests.harness.receiver import Receiver
from tests.harness.running import Room, make_space, run_platform
from tests.harness.scenes import scene
from tests.harness.webhooks import Hook, hook
from tests.harness.workers import Workers


@pytest.fixture
def looms(api: Api, organization: Founded) -> Room:
    """An open space of a platform of Ada's organization."""
    return make_space(api, run_platform(api, organization))


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """The index of the tests doesn't lag: a gap in it is a gap."""
    monkeypatch.setattr(logs, "_INDEX_PATIENCE", (0.0,))


@pytest.fixture
def ten(api: Api, ada: Person, workers: Workers) -> Founded:
    """An organization whose log holds ten entries, appended in several batches."""
    return scene("ten", lambda: _ten(api, ada, workers))


def _ten(api: Api, owner: Person, workers: Workers) -> Founded:
    organization = found(api, owner)
    for n in range(9):
        api.patch(organization.path, as_=owner, json={"name": f"Name {n}"})
        if n % 4 == 0:
            workers.deliver()
    workers.deliver()
    return organization


@pytest.fixture
def private_targets(configure: Configure) -> None:
    """Receivers on this machine are no secret."""
    configure(webhook_allow_private="1")


@pytest.fixture
def brisk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who gives no answer is given up soon."""
    monkeypatch.setattr(outgoing, "TOTAL_SECONDS", 0.3)


@pytest.fixture
def made(api: Api, organization: Founded, workers: Workers, receiver: Receiver) -> Hook:
    """A webhook that wants to know of every change of its organization."""
    made = hook(api, organization, receiver, events=["organization.updated"])
    workers.deliver()
    return made
