"""Fixtures of the tests on the emulator: one run of the local stage, its callers and processes."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from tests.emulator.api_clients import ApiClient
from tests.emulator.crash_scenarios import KillableProcesses
from tests.emulator.local_stage import LocalStage

ClientFactory = Callable[[str], ApiClient]


@pytest.fixture(scope="session")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalStage]:
    """The service, which `make run` started. It must stop cleanly at the end."""
    stage = LocalStage(tmp_path_factory.mktemp("stage")).start_with_make()
    yield stage
    stage.interrupt()
    assert "Stopping, and saving the data." in stage.output
    assert stage.remaining_processes() == {}  # make exits only after all its processes have.


@pytest.fixture
def create_client(stage: LocalStage) -> Iterator[ClientFactory]:
    """A function that creates a caller with a name, for one test."""
    with ExitStack() as callers:
        yield lambda name: callers.enter_context(ApiClient(stage, name))


@pytest.fixture(scope="session")
def processes(stage: LocalStage) -> Iterator[KillableProcesses]:
    """Processes with a separate table, which no other process sweeps."""
    with KillableProcesses(stage, "crashes") as processes:
        yield processes
