"""Fixtures of the tests of the deployed package: the stage, which is deployed once, and its callers."""

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
    """An external server: the issuer of tokens and the receiver of events."""
    with Outside(tmp_path_factory.mktemp("outside")) as outside:
        yield outside


@pytest.fixture(scope="session")
def stage(tmp_path_factory: pytest.TempPathFactory, outside: Outside) -> Iterator[Deployment]:
    """The deployed stage. Its emulator is stopped at the end."""
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
    """A caller and the id of their organization, whose log lost the message to the ledger before all other tests."""
    with Caller(stage, "ada") as ada:
        with stage.paused("events"):
            organization = ada.makes_organization()
            stage.account.client("sqs").purge_queue(QueueUrl=stage.queue("events.fifo"))
        yield ada, organization
