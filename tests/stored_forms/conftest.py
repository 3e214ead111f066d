"""Fixtures of the tests of stored forms: the recording, and the initial states of its cases."""

import logging
from collections.abc import Callable, Iterator

import pytest

from chalicelib.entrypoints.catalogue import all_operations
from chalicelib.kernel.storage.record_types import all_record_types
from tests.faults import task_examples
from tests.harness import memory_aws
from tests.harness.api import ApiClient
from tests.harness.callers import Issuer, Person
from tests.harness.workers import Workers
from tests.stored_forms.case_runner import create_people, open_stage
from tests.stored_forms.forms import Case, Outcome, Recording, load
from tests.stored_forms.states import State, apply_difference

Replay = Callable[[Case], Outcome]


@pytest.fixture(scope="session")
def recording() -> Recording:
    return load()


@pytest.fixture(scope="session")
def people(recording: Recording, issuer: Issuer) -> dict[str, Person]:
    """The people of the recording, with tokens that are valid now."""
    return create_people(issuer, recording.people)


@pytest.fixture(scope="session")
def states() -> dict[tuple[str, ...], State]:
    """A cache of states, by the names of the differences that lead to them."""
    return {}


@pytest.fixture(scope="session")
def _everything_imported() -> None:
    """Import every module that draws random values, so that these can be replaced."""
    all_operations()
    all_record_types()
    task_examples.list_task_names()


@pytest.fixture
def _silent() -> Iterator[None]:
    """Write no log."""
    logging.disable()
    yield
    logging.disable(logging.NOTSET)


@pytest.fixture
def replay_case(
    recording: Recording,
    people: dict[str, Person],
    states: dict[tuple[str, ...], State],
    api: ApiClient,
    workers: Workers,
    _everything_imported: None,
    _silent: None,
) -> Replay:
    """A function that runs a case with the recorded items and time, and returns the outcome."""

    def replay(case: Case) -> Outcome:
        names = tuple(case.before)
        with open_stage(api, workers, people, case.name, case.moment) as stage:
            if names not in states:
                states[names] = _state(recording, states, names)
            states[names].restore()
            return stage.run(case.about, case.trigger)

    return replay


def _state(recording: Recording, states: dict[tuple[str, ...], State], names: tuple[str, ...]) -> State:
    if not names:
        memory_aws.reset()
        apply_difference(recording.world)
    else:
        if names[:-1] not in states:
            states[names[:-1]] = _state(recording, states, names[:-1])
        states[names[:-1]].restore()
        apply_difference(recording.difference(names[-1]))
    return State.capture()
