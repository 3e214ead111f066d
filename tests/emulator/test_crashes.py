"""A process that is killed at any AWS call of a mutation commits all of it or nothing."""

from typing import Final

import pytest

from tests.emulator.crash_scenarios import EVENT_TYPE, KillPoint, Mutation, Scenario, create_step

pytestmark = [pytest.mark.emulator, pytest.mark.xdist_group("emulator")]

_PATH: Final = "/organizations/<organization>"
_MEMBER: Final = f"{_PATH}/members/<mary>"
_KEY: Final = f"{_PATH}/api-keys/<key>"
_EVENT: Final = {"type": EVENT_TYPE, "actor": {"type": "clerk", "id": "c-1"}}

CREATION: Final = Mutation("creation", "POST", "/organizations", {"name": "World", "slug": "<slug>"})
TRANSFER: Final = Mutation("transfer", "POST", f"{_PATH}/transfer-ownership", {"newOwnerId": "<mary>"})
OTHERS: Final = (
    Mutation(
        "application events", "POST", f"{_PATH}/events/batch", {"events": [_EVENT] * 2}, prerequisites=("event type",)
    ),
    Mutation("update", "PATCH", _PATH, {"name": "Other", "companyName": "Ltd."}),
    Mutation("change of slug", "PATCH", _PATH, {"slug": "<slug>-new"}),
    Mutation("deletion", "DELETE", _PATH),
    Mutation("restoration", "PATCH", _PATH, {"status": "active"}, prerequisites=("deleted",)),
    Mutation("change of role", "PATCH", _MEMBER, {"role": "editor"}),
    Mutation("removal", "DELETE", _MEMBER),
    Mutation("leaving", "POST", f"{_PATH}/leave", caller="mary"),
    Mutation("creation of a key", "POST", f"{_PATH}/api-keys", {"name": "Second"}),
    Mutation("rotation", "POST", f"{_KEY}/rotate", {}, prerequisites=("key",)),
    Mutation("revocation", "DELETE", _KEY, prerequisites=("key",)),
)


@pytest.mark.parametrize(
    "mutation",
    [CREATION, TRANSFER, *(pytest.param(mutation, marks=pytest.mark.exhaustive) for mutation in OTHERS)],
    ids=str,
)
def test_process_killed_at_any_call_commits_all_or_nothing(mutation, stage, processes):
    def create_scenario() -> Scenario:
        scenario = Scenario(stage, processes)
        return scenario if mutation is CREATION else scenario.with_organization(*mutation.prerequisites)

    scenario = create_scenario()
    result = processes.run_steps(scenario.request(mutation))
    processes.run_step("deliver")
    expected_items = scenario.normalize(scenario.read_items())
    assert result.results[0]["status"] < 300, result.results
    assert result.calls[-2:] == ["TransactWriteItems", "SendMessage"]
    committed = KillPoint(len(result.calls) - 1, after_response=True)

    scenario = create_scenario()
    items_before = scenario.read_items()
    for kill_point in (point for point in result.kill_points if point < committed):
        processes.run_until_killed(kill_point, scenario.request(mutation))
        assert scenario.read_items() == items_before, kill_point
    scenario.recover()
    assert scenario.read_items() == items_before
    for kill_point in (point for point in result.kill_points if point >= committed):
        scenario = create_scenario()
        processes.run_until_killed(kill_point, scenario.request(mutation))
        scenario.recover()
        assert scenario.normalize(scenario.read_items()) == expected_items, kill_point
        # The client got no response, so it repeats the request.
        answer, _ = processes.run_steps(scenario.request(mutation), create_step("deliver")).results
        assert answer["status"] < 300 or answer["body"]["code"] in ("not_found", "insufficient_role"), answer
        assert scenario.normalize(scenario.read_items()) == expected_items, kill_point
