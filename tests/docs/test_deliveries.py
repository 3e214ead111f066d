"""`docs/reference/deliveries.md` matches the measurements, and simulations confirm its claims on hanging endpoints."""

from dataclasses import replace

import pytest

from benchmarks.deliveries import document
from benchmarks.deliveries.hanging_endpoints import DESIGNS, Load, Simulation
from chalicelib.kernel.outbound.webhook_client import TOTAL_SECONDS

IMPLEMENTED_DESIGNS = [design.name for design in DESIGNS if design.has_circuit_breaker and design.workers is None]


def test_the_page_is_generated_from_the_results():
    instruction = "run `python -m benchmarks.deliveries.hanging_endpoints`, or `benchmarks.deliveries.lag`"
    assert document.PAGE_FILE.read_text() == document.render_page(), instruction


@pytest.fixture(scope="module")
def simulations_by_design() -> dict[str, Simulation]:
    """A completed simulation of each design, with fewer webhooks and workers than on the page."""
    load = Load(hanging=3_000, healthy=100, minutes=8)
    simulations = {design.name: Simulation(replace(design, workers=100), load) for design in DESIGNS[:3]}
    for simulation in simulations.values():
        simulation.run()
    return simulations


def max_late_lag(simulation: Simulation) -> float:
    """Return the longest lag of an event of a healthy endpoint in the last minutes."""
    return max(lag for time, lag in simulation.lags if time > 6 * 60)


def test_every_event_of_a_healthy_endpoint_is_delivered_in_each_design(simulations_by_design):
    first, *others = [sorted(time for time, _ in simulation.lags) for simulation in simulations_by_design.values()]
    assert len(first) > 500
    assert all(times == first for times in others)


@pytest.mark.parametrize("name", IMPLEMENTED_DESIGNS)
def test_hanging_endpoints_do_not_delay_healthy_ones_once_their_circuit_is_open(name, simulations_by_design):
    assert max_late_lag(simulations_by_design[name]) < 5
    assert max_late_lag(simulations_by_design["one queue without parking"]) > 60


@pytest.mark.parametrize("name", IMPLEMENTED_DESIGNS)
def test_a_webhook_with_an_open_circuit_is_probed_with_one_event_at_a_time(name, simulations_by_design):
    simulation = simulations_by_design[name]
    max_timeouts = simulation.load.minutes * 60 / TOTAL_SECONDS
    timeouts = [webhook.consecutive_timeouts for webhook in simulation.webhooks if webhook.is_hanging]
    assert 2 <= max(timeouts) <= max_timeouts
