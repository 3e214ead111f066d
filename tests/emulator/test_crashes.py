"""A process that is killed at any AWS call of a mutation commits all of it or nothing."""

from typing import Final

import pytest

from tests.emulator.crash_scenarios import Mutation, Scenario
from tests.emulator.killable_processes import KillableProcesses, KillPoint, create_step
from tests.emulator.local_stage import LocalStage

pytestmark = [pytest.mark.emulator, pytest.mark.xdist_group("emulator")]

_ORGANIZATION_PATH: Final = "/organizations/<organization>"
_MEMBER_PATH: Final = f"{_ORGANIZATION_PATH}/members/<mary>"
_KEY_PATH: Final = f"{_ORGANIZATION_PATH}/api-keys/<key>"

MUTATIONS: Final = (
    Mutation("update", "organization.updated", "PATCH", _ORGANIZATION_PATH, {"name": "Other", "companyName": "Ltd."}),
    Mutation("change of slug", "organization.updated", "PATCH", _ORGANIZATION_PATH, {"slug": "<slug>-new"}),
    Mutation("deletion", "organization.deleted", "DELETE", _ORGANIZATION_PATH),
    Mutation(
        "restoration",
        "organization.restored",
        "PATCH",
        _ORGANIZATION_PATH,
        {"status": "active"},
        prerequisites=("deleted",),
    ),
    Mutation("change of role", "organization.member.updated", "PATCH", _MEMBER_PATH, {"role": "editor"}),
    Mutation("removal", "organization.member.removed", "DELETE", _MEMBER_PATH),
    Mutation("leaving", "organization.member.removed", "POST", f"{_ORGANIZATION_PATH}/leave", caller="mary"),
    Mutation(
        "transfer",
        "organization.ownership_transferred",
        "POST",
        f"{_ORGANIZATION_PATH}/transfer-ownership",
        {"newOwnerId": "<mary>"},
    ),
    Mutation(
        "creation of a key",
        "organization.api_key.created",
        "POST",
        f"{_ORGANIZATION_PATH}/api-keys",
        {"name": "Second"},
    ),
    Mutation("rotation", "organization.api_key.rotated", "POST", f"{_KEY_PATH}/rotate", {}, prerequisites=("key",)),
    Mutation("revocation", "organization.api_key.revoked", "DELETE", _KEY_PATH, prerequisites=("key",)),
)
CREATION: Final = Mutation(
    "creation", "organization.created", "POST", "/organizations", {"name": "World", "slug": "<slug>"}
)


def _create_scenario(stage: LocalStage, processes: KillableProcesses, mutation: Mutation) -> Scenario:
    scenario = Scenario(stage, processes)
    return scenario if mutation is CREATION else scenario.with_organization(*mutation.prerequisites)


@pytest.mark.parametrize("mutation", [CREATION, *MUTATIONS], ids=str)
def test_process_killed_at_any_call_commits_all_or_nothing(mutation, stage, processes):
    scenario = _create_scenario(stage, processes, mutation)
    result = processes.run_steps(scenario.request(mutation))
    processes.run_step("deliver")
    expected_items = scenario.normalize(scenario.read_items())
    assert result.results[0]["status"] < 300, result.results
    assert result.calls[-2:] == ["TransactWriteItems", "SendMessage"]
    committed = KillPoint(len(result.calls) - 1, after_response=True)

    scenario = _create_scenario(stage, processes, mutation)
    items_before = scenario.read_items()
    for kill_point in result.kill_points:
        processes.run_until_killed(kill_point, scenario.request(mutation))
        scenario.recover()
        if kill_point < committed:  # Nothing was committed, so the next kill can use the same scenario.
            assert scenario.read_items() == items_before, kill_point
        else:
            assert scenario.normalize(scenario.read_items()) == expected_items, kill_point
            _repeat_request(scenario, mutation)
            assert scenario.normalize(scenario.read_items()) == expected_items, kill_point
            scenario = _create_scenario(stage, processes, mutation)


def _repeat_request(scenario: Scenario, mutation: Mutation) -> None:
    """Repeat the request, as a client does that got no response."""
    answer, _ = scenario.processes.run_steps(scenario.request(mutation), create_step("deliver")).results
    assert answer["status"] < 300 or answer["body"]["code"] in ("not_found", "insufficient_role"), answer
