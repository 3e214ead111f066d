"""`docs/reference/deliveries.md` says what was measured, and what it says of endpoints that hang holds."""

from dataclasses import replace

import pytest

from benchmarks.deliveries import document
from benchmarks.deliveries.hanging_endpoints import DESIGNS, Load, Simulation
from chalicelib.kernel.outbound.webhook_client import TOTAL_SECONDS

BUILT = [design.name for design in DESIGNS if design.parking and design.workers is None]


def test_the_page_is_made_of_the_figures_that_were_kept() -> None:
    wanted = "run `python -m benchmarks.deliveries.hanging_endpoints`, or `benchmarks.deliveries.lag`"
    assert document.FILE.read_text() == document.document(), wanted


@pytest.fixture(scope="module")
def simulated() -> dict[str, Simulation]:
    """A smaller world than that of the page, with fewer workers, in each design, after it has ended."""
    load = Load(hanging=3_000, healthy=100, minutes=8)
    made = {design.name: Simulation(replace(design, workers=100), load) for design in DESIGNS[:3]}
    for simulation in made.values():
        simulation.run()
    return made


def late(simulation: Simulation) -> float:
    """Return the longest lag of a good endpoint's events of the last minutes."""
    return max(lag for at, lag in simulation.lags if at > 6 * 60)


def test_every_event_of_a_good_endpoint_reaches_it_in_each_design(simulated: dict[str, Simulation]) -> None:
    first, *others = [sorted(at for at, _ in simulation.lags) for simulation in simulated.values()]
    assert len(first) > 500
    assert all(reached == first for reached in others)


@pytest.mark.parametrize("name", BUILT)
def test_endpoints_that_hang_leave_the_good_ones_alone_once_they_are_parked(
    name: str, simulated: dict[str, Simulation]
) -> None:
    assert late(simulated[name]) < 5
    assert late(simulated["one queue without parking"]) > 60


@pytest.mark.parametrize("name", BUILT)
def test_a_parked_webhook_is_tried_one_event_at_a_time(name: str, simulated: dict[str, Simulation]) -> None:
    built = simulated[name]
    most = built.load.minutes * 60 / TOTAL_SECONDS
    timeouts = [webhook.silences for webhook in built.webhooks if webhook.hangs]
    assert 2 <= max(timeouts) <= most
