"""Fixtures of the tests on the emulator: one run of the local stage, its callers and processes."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from tests.emulator.api_clients import ApiClient
from tests.emulator.killable_processes import KillableProcesses
from tests.emulator.local_stage import LocalStage

ClientFactory = Callable[[str], ApiClient]
AddMember = Callable[[str, ApiClient, str], None]


@pytest.fixture(scope="session")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalStage]:
    """The running service. It must terminate cleanly at the end."""
    stage = LocalStage(tmp_path_factory.mktemp("stage")).start()
    yield stage
    assert stage.terminate() == 0, stage.output
    assert stage.remaining_processes() == {}


@pytest.fixture
def create_client(stage: LocalStage) -> Iterator[ClientFactory]:
    """A function that creates a caller with a name, for one test."""
    with ExitStack() as callers:
        yield lambda name: callers.enter_context(ApiClient(stage, name))


@pytest.fixture(scope="module")
def create_module_client(stage: LocalStage) -> Iterator[ClientFactory]:
    """A function that creates a caller with a name, for all tests of a module."""
    with ExitStack() as callers:
        yield lambda name: callers.enter_context(ApiClient(stage, name))


@pytest.fixture(scope="session")
def processes(stage: LocalStage) -> Iterator[KillableProcesses]:
    """Processes with a separate table, which no other process sweeps."""
    with KillableProcesses(stage, "crashes") as processes:
        yield processes


@pytest.fixture(scope="session")
def _stage_processes(stage: LocalStage) -> Iterator[KillableProcesses]:
    with KillableProcesses(stage, "atrium") as inside:
        yield inside


@pytest.fixture(scope="session")
def add_member(_stage_processes: KillableProcesses) -> AddMember:
    """A function that adds a member to an organization, as an accepted invitation does."""

    def join(organization: str, caller: ApiClient, role: str) -> None:
        _stage_processes.run_step("join", organization=organization, token=caller.token, role=role)

    return join
