"""The work of a worker that is killed at any AWS call is finished once, by the next worker or the sweep."""

from base64 import b64decode
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from typing import Any, Final

import pytest

from tests.emulator.api_clients import run_concurrently
from tests.emulator.crash_scenarios import RECOVERY_SECONDS, Scenario
from tests.emulator.killable_processes import KillableProcesses, KillPoint, Step, create_step
from tests.emulator.local_stage import LocalStage
from tests.harness.rfc6962 import tree_root

pytestmark = [pytest.mark.emulator, pytest.mark.xdist_group("emulator")]

ItemsByKey = Mapping[tuple[str, str], dict[str, Any]]

_LEASE_SECONDS: Final = 60
_HOUR: Final = 60 * 60
_MONTH: Final = 31 * 24 * _HOUR


def _create_scenario_with_pending_entries(stage: LocalStage, processes: KillableProcesses, entries: int) -> Scenario:
    """Return a scenario with a number of pending log entries whose messages were lost."""
    scenario = Scenario(stage, processes).with_organization()
    path = "/organizations/<organization>"
    processes.run_in_parent(
        *(scenario.request_by_ada("PATCH", path, companyName=f"{n}") for n in range(entries)), create_step("lose")
    )
    return scenario


def _append(scenario: Scenario) -> Step:
    return create_step("append", log=scenario.names["organization"], batch_size=2)


def test_ledger_worker_killed_at_any_call_is_recovered(stage, processes):
    scenario = _create_scenario_with_pending_entries(stage, processes, 3)
    result = processes.run_steps(_append(scenario))
    expected_items = scenario.normalize(scenario.read_items())
    appending = ["Query", "TransactWriteItems", "Query", "TransactWriteItems", "Query"]
    assert result.calls == [*appending, "BatchGetItem", "Query", "TransactWriteItems"]
    for kill_point in result.kill_points:
        scenario = _create_scenario_with_pending_entries(stage, processes, 3)
        processes.run_until_killed(kill_point, _append(scenario))
        scenario.recover()
        assert scenario.normalize(scenario.read_items()) == expected_items, kill_point


def test_sweep_killed_at_any_call_is_recovered(stage, processes):
    scenario = _create_scenario_with_pending_entries(stage, processes, 1)
    result = processes.run_steps(create_step("sweep"), ahead=RECOVERY_SECONDS)
    assert (result.calls.count("TransactWriteItems"), result.calls.count("SendMessage")) == (1, 1)
    processes.run_step("deliver")
    expected_items = scenario.normalize(scenario.read_items())
    for kill_point in result.kill_points:
        scenario = _create_scenario_with_pending_entries(stage, processes, 1)
        processes.run_until_killed(kill_point, create_step("sweep"), ahead=RECOVERY_SECONDS)
        scenario.recover(ahead=RECOVERY_SECONDS + _LEASE_SECONDS + 1)
        assert scenario.normalize(scenario.read_items()) == expected_items, kill_point


def test_duplicated_and_reordered_messages_change_nothing(stage, processes):
    worlds = [_create_scenario_with_pending_entries(stage, processes, 3) for _ in range(2)]
    one, two = (_append(scenario) for scenario in worlds)
    processes.run_steps(two, one)
    appended = [scenario.read_items() for scenario in worlds]
    assert [_sequences(items) for items in appended] == [[1, 2, 3, 4, 5]] * 2
    processes.run_steps(one, one, two, one, two)
    assert [scenario.read_items() for scenario in worlds] == appended


def test_two_workers_append_concurrently_to_one_log(stage, processes):
    with KillableProcesses(stage, "crashes") as others:
        for _ in range(3):
            scenario = _create_scenario_with_pending_entries(stage, processes, 28)
            run_concurrently(
                partial(processes.run_steps, _append(scenario)), partial(others.run_steps, _append(scenario))
            )
            scenario.recover()
            assert _sequences(scenario.read_items()) == list(range(1, 31))


def _sequences(items: list[dict[str, Any]]) -> list[int]:
    return sorted(item["sequence"] for item in items if item.get("kind") == "entry")


@dataclass(frozen=True)
class QueueTask:
    """A task of the jobs queue, the delay until it is due, and a function that prepares and returns its record."""

    task: str
    delay_seconds: float
    prepare: Callable[[Scenario], Mapping[str, str]]


def _delete_organization(scenario: Scenario) -> Mapping[str, str]:
    path = "/organizations/<organization>"
    keys = [scenario.request_by_ada("POST", f"{path}/api-keys", name=f"Key {n}") for n in range(8)]
    scenario.processes.run_in_parent(*keys, scenario.request_by_ada("DELETE", path), create_step("deliver"))
    return {"pk": f"O#{scenario.names['organization']}", "sk": "#"}


def _create_expiring_key(scenario: Scenario) -> Mapping[str, str]:
    path = "/organizations/<organization>/api-keys"
    body = {"name": "Short-lived", "expiresAt": scenario.timestamp_in(_HOUR)}
    created = scenario.processes.run_in_parent(scenario.request_by_ada("POST", path, **body), create_step("deliver"))[
        0
    ]["body"]
    return {"pk": f"O#{scenario.names['organization']}", "sk": f"K#{created['id']}"}


@pytest.mark.parametrize(
    "queue_task",
    [
        QueueTask("organizations.purge", _MONTH, _delete_organization),
        QueueTask("api_keys.expire", 2 * _HOUR, _create_expiring_key),
    ],
    ids=lambda queue_task: queue_task.task,
)
def test_task_worker_killed_at_any_call_is_recovered(queue_task, stage, processes):
    scenario, task = _create_scenario_with_task(stage, processes, queue_task)
    result = processes.run_steps(task, ahead=queue_task.delay_seconds)
    processes.run_step("deliver")
    expected_items = scenario.normalize(scenario.read_items())
    claimed = KillPoint(result.calls.index("TransactWriteItems") + 1, after_response=True)

    scenario, task = _create_scenario_with_task(stage, processes, queue_task)
    before = scenario.read_items()
    for kill_point in result.kill_points:
        processes.run_until_killed(kill_point, task, ahead=queue_task.delay_seconds)
        if kill_point < claimed:
            assert scenario.read_items() == before, kill_point
        else:
            processes.run_steps(
                task, create_step("sweep"), create_step("deliver"), ahead=queue_task.delay_seconds + RECOVERY_SECONDS
            )
            assert scenario.normalize(scenario.read_items()) == expected_items, kill_point
            scenario, task = _create_scenario_with_task(stage, processes, queue_task)


def _create_scenario_with_task(
    stage: LocalStage, processes: KillableProcesses, queue_task: QueueTask
) -> tuple[Scenario, Step]:
    scenario = Scenario(stage, processes).with_organization("key")
    return scenario, create_step("work", message={"task": queue_task.task, **queue_task.prepare(scenario)})


def test_no_item_is_orphaned_after_all_kills(all_items):
    assert [key for key in all_items if not _has_owner(all_items, key)] == []


def _has_owner(all_items: ItemsByKey, key: tuple[str, str]) -> bool:
    item, (letter, _, rest) = all_items[key], key[0].partition("#")
    match letter:
        case "O":
            return (key[0], "#") in all_items
        case "U":
            return (f"O#{item['ref']}", "#") in all_items
        case "K":
            return rest in all_items[item["record_pk"], item["record_sk"]]["digests"]
        case "A":
            return (f"Q#{rest.removesuffix('#S')}", "!") in all_items
    # The outbox has no pending entries, and organizations are counted by their owners.
    allowed_sort_keys = {"Q": "!", "USER": "COUNT#", "I": ""}
    return letter in allowed_sort_keys and key[1].startswith(allowed_sort_keys[letter])


def test_api_key_counters_are_correct_after_all_kills(all_items):
    live_keys = Counter(pk for (pk, _), item in all_items.items() if item.get("live"))
    counters = {pk: item["n"] for (pk, sk), item in all_items.items() if sk == "COUNT#API keys"}
    assert {pk: count for pk, count in counters.items() if count} == live_keys


def test_logs_match_their_signed_heads_after_all_kills(all_items):
    for log in {pk.removeprefix("A#") for pk, _ in all_items if pk.startswith("A#") and not pk.endswith("#S")}:
        entries = [item for (pk, _), item in all_items.items() if pk == f"A#{log}"]
        entries.sort(key=lambda entry: entry["sequence"])
        assert [entry["sequence"] for entry in entries] == list(range(1, len(entries) + 1))
        leaves = [bytes.fromhex(entry["leaf"]) for entry in entries]
        assert leaves == [sha256(b"\x00" + bytes.fromhex(entry["body"])).digest() for entry in entries]
        origin, size, signed_root, *_ = all_items[f"Q#{log}", "!"]["note"].split("\n")
        assert (origin, size) == (f"atrium/{log}", str(len(entries)))
        assert b64decode(signed_root) == tree_root(leaves)


@pytest.fixture(scope="module")
def all_items(processes: KillableProcesses) -> ItemsByKey:
    return {(item["pk"], item["sk"]): item for item in processes.run_step("everything")}
