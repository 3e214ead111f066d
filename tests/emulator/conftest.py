"""One run of the local stage for all tests on the emulator, and who calls it."""

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
    """The service, running. When it is told to end, nothing of it stays."""
    stage = Stage(tmp_path_factory.mktemp("stage")).start()
    yield stage
    assert stage.terminate() == 0, stage.said
    assert stage.processes_left() == {}


@pytest.fixture
def calling(stage: Stage) -> Iterator[Calling]:
    """Return somebody of that name who calls the service."""
    with ExitStack() as callers:
        yield lambda name: callers.enter_context(Caller(stage, name))


@pytest.fixture(scope="module")
def calling_all_along(stage: Stage) -> Iterator[Calling]:
    """Return somebody who calls the service in more than one test."""
    with ExitStack() as callers:
        yield lambda name: callers.enter_context(Caller(stage, name))


@pytest.fixture(scope="session")
def processes(stage: Stage) -> Iterator[Processes]:
    """Processes with a table of their own, which nobody else sweeps."""
    with Processes(stage, "crashes") as processes:
        yield processes


@pytest.fixture(scope="session")
def _inside(stage: Stage) -> Iterator[Processes]:
    with Processes(stage, "atrium") as inside:
        yield inside


@pytest.fixture(scope="session")
def joining(_inside: Processes) -> Joining:
    """Make somebody a member of an organization, as accepting an invitation does."""

    def join(organization: str, caller: Caller, role: str) -> None:
        _inside.do("join", organization=organization, token=caller.token, role=role)

    return join
