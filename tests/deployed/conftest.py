"""Fixtures of the tests of the deployed package: the stage, which is deployed once, and its callers."""

from collections.abc import Iterator

import pytest

from local.server.issuer import Issuer
from tests.deployed.deployment import Deployment
from tests.deployed.emulated_account import EmulatedAccount
from tests.deployed.external_server import ExternalServer
from tests.emulator.api_clients import ApiClient
from tests.emulator.conftest import create_client

__all__ = ["create_client"]


@pytest.fixture(scope="session")
def external_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ExternalServer]:
    """An external server: the issuer of tokens and the receiver of events."""
    with ExternalServer(tmp_path_factory.mktemp("outside")) as outside:
        yield outside


@pytest.fixture(scope="session")
def stage(tmp_path_factory: pytest.TempPathFactory, external_server: ExternalServer) -> Iterator[Deployment]:
    """The deployed stage. Its emulator is stopped at the end."""
    state = tmp_path_factory.mktemp("deployed")
    account = EmulatedAccount(state, external_server.authority)
    try:
        account.start()
        deployment = Deployment(account, state)
        deployment.deploy(external_server.publish_keys(Issuer(state / "issuer")))
        yield deployment
    finally:
        account.stop()


@pytest.fixture(scope="session", autouse=True)
def organization_with_lost_message(stage: Deployment) -> Iterator[tuple[ApiClient, str]]:
    """A caller and the id of their organization, whose log lost the message to the ledger before all other tests."""
    with ApiClient(stage, "ada") as ada:
        with stage.pause_function("events"):
            organization = ada.create_organization()
            stage.account.client("sqs").purge_queue(QueueUrl=stage.queue_url("events.fifo"))
        yield ada, organization
