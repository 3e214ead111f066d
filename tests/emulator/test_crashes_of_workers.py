"""The work of a worker that is killed at any AWS call is finished once, by the next worker or the sweep."""

from base64 import b64decode
from collections import Counter
from hashlib import sha256
from typing import Final

import pytest

from chalicelib.kernel.core.clock import after, now
from tests.emulator.crash_scenarios import RECOVERY_SECONDS, KillPoint, Scenario, Step, create_step
from tests.harness.rfc6962 import tree_root

pytestmark = [pytest.mark.emulator, pytest.mark.xdist_group("emulator")]

_PATH: Final = "/organizations/<organization>"
_LEASE_SECONDS: Final = 60
_HOUR: Final = 60 * 60
_MONTH: Final = 31 * 24 * _HOUR


def create_scenario_with_pending_entries(stage, processes, entries):
    """Return a scenario with a number of pending log entries whose messages were lost."""
    scenario = Scenario(stage, processes).with_organization()
    changes = [scenario.request_by_ada("PATCH", _PATH, companyName=f"{n}") for n in range(entries)]
    processes.run_in_parent(*changes, create_step("lose"))
    return scenario


def append(scenario):
    return create_step("append", log=scenario.names["organization"], batch_size=2)


def test_ledger_worker_killed_at_any_call_is_recovered(stage, processes):
    scenario = create_scenario_with_pending_entries(stage, processes, 3)
    result = processes.run_steps(append(scenario))
    expected_items = scenario.normalize(scenario.read_items())
    appending = ["Query", "TransactWriteItems", "Query", "TransactWriteItems", "Query"]
    assert result.calls == [*appending, "BatchGetItem", "Query", "TransactWriteItems"]
    for kill_point in result.kill_points:
        scenario = create_scenario_with_pending_entries(stage, processes, 3)
        processes.run_until_killed(kill_point, append(scenario))
        scenario.recover()
        assert scenario.normalize(scenario.read_items()) == expected_items, kill_point


@pytest.mark.exhaustive
def test_sweep_killed_at_any_call_is_recovered(stage, processes):
    scenario = create_scenario_with_pending_entries(stage, processes, 1)
    result = processes.run_steps(create_step("sweep"), ahead=RECOVERY_SECONDS)
    assert (result.calls.count("TransactWriteItems"), result.calls.count("SendMessageBatch")) == (1, 1)
    processes.run_step("deliver")
    expected_items = scenario.normalize(scenario.read_items())
    for kill_point in result.kill_points:
        scenario = create_scenario_with_pending_entries(stage, processes, 1)
        processes.run_until_killed(kill_point, create_step("sweep"), ahead=RECOVERY_SECONDS)
        scenario.recover(ahead=RECOVERY_SECONDS + _LEASE_SECONDS + 1)
        assert scenario.normalize(scenario.read_items()) == expected_items, kill_point


def test_duplicated_and_reordered_messages_change_nothing(stage, processes):
    worlds = [create_scenario_with_pending_entries(stage, processes, 3) for _ in range(2)]
    one, two = (append(scenario) for scenario in worlds)
    processes.run_steps(two, one)
    appended = [scenario.read_items() for scenario in worlds]
    assert [sequences(items) for items in appended] == [[1, 2, 3, 4, 5]] * 2
    processes.run_steps(one, one, two, one, two)
    assert [scenario.read_items() for scenario in worlds] == appended


def sequences(items):
    return sorted(item["sequence"] for item in items if item.get("kind") == "entry")


def delete_organization(scenario):
    """Delete the organization with nine keys, and return the key of its record."""
    keys = [scenario.request_by_ada("POST", f"{_PATH}/api-keys", name=f"Key {n}") for n in range(8)]
    scenario.processes.run_in_parent(*keys, scenario.request_by_ada("DELETE", _PATH), create_step("deliver"))
    return {"pk": f"O#{scenario.names['organization']}", "sk": "#"}


def create_expiring_key(scenario):
    """Create a key that expires in an hour, and return the key of its record."""
    body = {"name": "Short-lived", "expiresAt": after(now(), seconds=_HOUR)}
    creation = scenario.request_by_ada("POST", f"{_PATH}/api-keys", **body)
    created, _ = scenario.processes.run_in_parent(creation, create_step("deliver"))
    return {"pk": f"O#{scenario.names['organization']}", "sk": f"K#{created['body']['id']}"}


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("task", "delay", "prepare"),
    [("organizations.purge", _MONTH, delete_organization), ("api_keys.expire", 2 * _HOUR, create_expiring_key)],
)
def test_task_worker_killed_at_any_call_is_recovered(task, delay, prepare, stage, processes):
    def create_scenario() -> tuple[Scenario, Step]:
        scenario = Scenario(stage, processes).with_organization("key")
        return scenario, create_step("work", message={"task": task, **prepare(scenario)})

    scenario, work = create_scenario()
    result = processes.run_steps(work, ahead=delay)
    processes.run_step("deliver")
    expected_items = scenario.normalize(scenario.read_items())
    claimed = KillPoint(result.calls.index("TransactWriteItems") + 1, after_response=True)

    scenario, work = create_scenario()
    before = scenario.read_items()
    for kill_point in result.kill_points:
        processes.run_until_killed(kill_point, work, ahead=delay)
        if kill_point < claimed:
            assert scenario.read_items() == before, kill_point
        else:
            processes.run_steps(work, create_step("sweep"), create_step("deliver"), ahead=delay + RECOVERY_SECONDS)
            assert scenario.normalize(scenario.read_items()) == expected_items, kill_point
            scenario, work = create_scenario()


@pytest.fixture(scope="module")
def all_items(processes):
    return {(item["pk"], item["sk"]): item for item in processes.run_step("everything")}


def test_no_item_is_orphaned_after_all_kills(all_items):
    assert [key for key in all_items if not has_owner(all_items, key)] == []


def has_owner(all_items, key):
    item, (letter, _, rest) = all_items[key], key[0].partition("#")
    owner_keys = {
        "O": lambda: ("#".join(key[0].split("#")[:2]), "#"),
        "ORGANIZATIONS": lambda: (f"O#{item['organization_id']}", "#"),
        "U": lambda: (f"O#{item['ref']}", "#"),
        "A": lambda: (f"Q#{rest.removesuffix('#S')}", "!"),
        "B": lambda: (f"A#{rest}", key[1]),
        "EVENT-TYPE": lambda: (key[0], "#"),
        "EVENT-TYPE-NAMES": lambda: (f"EVENT-TYPE#{key[1]}", "#"),
    }
    if letter in owner_keys:
        return owner_keys[letter]() in all_items
    if letter == "K":
        return rest in all_items[item["record_pk"], item["record_sk"]]["digests"]
    # The outbox has no pending entries. Organizations are counted by their owners, and event types are counted.
    allowed_sort_keys = {"Q": "!", "USER": "COUNT#", "EVENT-TYPES": "COUNT#", "I": "", "ADDRESS-HASH-KEY": ""}
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
        bodies = [entry.get("body") or all_items[f"B#{log}", entry["id"]]["body"] for entry in entries]
        assert leaves == [sha256(b"\x00" + bytes.fromhex(body)).digest() for body in bodies]
        origin, size, signed_root, *_ = all_items[f"Q#{log}", "!"]["note"].split("\n")
        assert (origin, size) == (f"atrium/{log}", str(len(entries)))
        assert b64decode(signed_root) == tree_root(leaves)
