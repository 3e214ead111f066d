"""Fixtures of the tests on the emulator: one run of the local stage, its callers and processes."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from tests.emulator.people import Caller
from tests.emulator.process import Processes
from tests.emulator.stage import Stage

Calling = Callable[[str], Caller]
Joining = Callable[[str, Caller, str], None]


@pytest.fixture(scope="session")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """The running service. It must terminate cleanly at the end."""
    stage = Stage(tmp_path_factory.mktemp("stage")).start()
    yield stage
    assert stage.terminate() == 0, stage.said
    assert stage.processes_left() == {}


@pytest.fixture
def calling(stage: Stage) -> Iterator[Calling]:
    """A function that creates a caller with a name, for one test."""
    with ExitStack() as callers:
        yield lambda name: callers.enter_context(Caller(stage, name))


@pytest.fixture(scope="module")
def calling_all_along(stage: Stage) -> Iterator[Calling]:
    """A function that creates a caller with a name, for all tests of a module."""
    with ExitStack() as callers:
        yield lambda name: callers.enter_context(Caller(stage, name))


@pytest.fixture(scope="session")
def processes(stage: Stage) -> Iterator[Processes]:
    """Processes with a separate table, which no other process sweeps."""
    with Processes(stage, "crashes") as processes:
        yield processes


@pytest.fixture(scope="session")
def _inside(stage: Stage) -> Iterator[Processes]:
    with Processes(stage, "atrium") as inside:
        yield inside


@pytest.fixture(scope="session")
def joining(_inside: Processes) -> Joining:
    """A function that adds a member to an organization, as an accepted invitation does."""

    def join(organization: str, caller: Caller, role: str) -> None:
        _inside.do("join", organization=organization, token=caller.token, role=role)

    return join
