"""The package, deployed once for all tests, and who calls it."""

from collections.abc import Iterator

import pytest

from local.server.issuer import Issuer
from tests.deployed.account import Account
from tests.deployed.deployment import Deployment
from tests.deployed.external_server import Outside
from tests.emulator.conftest import calling
from tests.emulator.people import Caller

__all__ = ["calling"]


@pytest.fixture(scope="session")
def outside(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Outside]:
    """A server of somebody else's: the issuer of tokens, and whoever is told of events."""
    with Outside(tmp_path_factory.mktemp("outside")) as outside:
        yield outside


@pytest.fixture(scope="session")
def stage(tmp_path_factory: pytest.TempPathFactory, outside: Outside) -> Iterator[Deployment]:
    """The stage, deployed. When its emulator is told to end, nothing of it stays."""
    state = tmp_path_factory.mktemp("deployed")
    account = Account(state, outside.authority)
    try:
        account.open()
        deployment = Deployment(account, state)
        deployment.bring_up(outside.keys_of(Issuer(state / "issuer")))
        yield deployment
    finally:
        account.close()


@pytest.fixture(scope="session", autouse=True)
def lost(stage: Deployment) -> Iterator[tuple[Caller, str]]:
    """Who made an organization, and its id: its log lost the message that wakes it before all other tests began."""
    with Caller(stage, "ada") as ada:
        with stage.paused("events"):
            organization = ada.makes_organization()
            stage.account.client("sqs").purge_queue(QueueUrl=stage.queue("events.fifo"))
        yield ada, organization
