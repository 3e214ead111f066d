"""A worker dies at any call of AWS: what it left half done, the next one ends; what it is told twice, it does once."""

from base64 import b64decode
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from typing import Any, Final

import pytest

from tests.emulator.people import at_once
from tests.emulator.process import Death, Processes, Step, step
from tests.emulator.stage import Stage
from tests.emulator.world import AFTERWARDS, World
from tests.harness.rfc6962 import root

pytestmark = [pytest.mark.emulator, pytest.mark.xdist_group("emulator")]

Items = Mapping[tuple[str, str], dict[str, Any]]

_LEASE_SECONDS: Final = 60
_HOUR: Final = 60 * 60
_MONTH: Final = 31 * 24 * _HOUR


def _waiting(stage: Stage, processes: Processes, entries: int) -> World:
    """Return a world in whose log so many entries wait, though every message about them was lost."""
    world = World(stage, processes).with_organization()
    path = "/organizations/<organization>"
    processes.warm(*(world.by_ada("PATCH", path, companyName=f"{n}") for n in range(entries)), step("lose"))
    return world


def _append(world: World) -> Step:
    return step("append", log=world.names["organization"], at_once=2)


def test_the_ledgers_worker_dies(stage: Stage, processes: Processes) -> None:
    world = _waiting(stage, processes, 3)
    done = processes.run(_append(world))
    whole = world.footprint(world.contents())
    appending = ["Query", "TransactWriteItems", "Query", "TransactWriteItems", "Query"]
    assert done.calls == [*appending, "BatchGetItem", "Query", "TransactWriteItems"]
    for death in done.deaths:
        world = _waiting(stage, processes, 3)
        processes.die(death, _append(world))
        world.recover()
        assert world.footprint(world.contents()) == whole, death


def test_the_sweep_dies(stage: Stage, processes: Processes) -> None:
    world = _waiting(stage, processes, 1)
    done = processes.run(step("sweep"), ahead=AFTERWARDS)
    assert (done.calls.count("TransactWriteItems"), done.calls.count("SendMessage")) == (1, 1)
    processes.do("deliver")
    whole = world.footprint(world.contents())
    for death in done.deaths:
        world = _waiting(stage, processes, 1)
        processes.die(death, step("sweep"), ahead=AFTERWARDS)
        world.recover(ahead=AFTERWARDS + _LEASE_SECONDS + 1)
        assert world.footprint(world.contents()) == whole, death


def test_messages_that_come_twice_late_and_in_disorder_change_nothing(stage: Stage, processes: Processes) -> None:
    worlds = [_waiting(stage, processes, 3) for _ in range(2)]
    one, two = (_append(world) for world in worlds)
    processes.run(two, one)
    appended = [world.contents() for world in worlds]
    assert [_sequences(contents) for contents in appended] == [[1, 2, 3, 4, 5]] * 2
    processes.run(one, one, two, one, two)
    assert [world.contents() for world in worlds] == appended


def test_two_workers_append_to_one_log_at_once(stage: Stage, processes: Processes) -> None:
    with Processes(stage, "crashes") as others:
        for _ in range(3):
            world = _waiting(stage, processes, 28)
            at_once(partial(processes.run, _append(world)), partial(others.run, _append(world)))
            world.recover()
            assert _sequences(world.contents()) == list(range(1, 31))


def _sequences(contents: list[dict[str, Any]]) -> list[int]:
    return sorted(item["sequence"] for item in contents if item.get("kind") == "entry")


@dataclass(frozen=True)
class Work:
    """A task of the jobs queue at its time: what is done before, and the record it is about."""

    task: str
    at: float
    prepare: Callable[[World], Mapping[str, str]]


def _deleted(world: World) -> Mapping[str, str]:
    path = "/organizations/<organization>"
    keys = [world.by_ada("POST", f"{path}/api-keys", name=f"Key {n}") for n in range(8)]
    world.processes.warm(*keys, world.by_ada("DELETE", path), step("deliver"))
    return {"pk": f"O#{world.names['organization']}", "sk": "#"}


def _expiring(world: World) -> Mapping[str, str]:
    path = "/organizations/<organization>/api-keys"
    body = {"name": "Short-lived", "expiresAt": world.moment(_HOUR)}
    made = world.processes.warm(world.by_ada("POST", path, **body), step("deliver"))[0]["body"]
    return {"pk": f"O#{world.names['organization']}", "sk": f"K#{made['id']}"}


@pytest.mark.parametrize(
    "work",
    [Work("organizations.purge", _MONTH, _deleted), Work("api_keys.expire", 2 * _HOUR, _expiring)],
    ids=lambda work: work.task,
)
def test_a_worker_dies(work: Work, stage: Stage, processes: Processes) -> None:
    world, task = _with_work(stage, processes, work)
    done = processes.run(task, ahead=work.at)
    processes.do("deliver")
    whole = world.footprint(world.contents())
    begun = Death(done.calls.index("TransactWriteItems") + 1, answered=True)

    world, task = _with_work(stage, processes, work)
    before = world.contents()
    for death in done.deaths:
        processes.die(death, task, ahead=work.at)
        if death < begun:
            assert world.contents() == before, death
        else:
            processes.run(task, step("sweep"), step("deliver"), ahead=work.at + AFTERWARDS)
            assert world.footprint(world.contents()) == whole, death
            world, task = _with_work(stage, processes, work)


def _with_work(stage: Stage, processes: Processes, work: Work) -> tuple[World, Step]:
    world = World(stage, processes).with_organization("key")
    return world, step("work", message={"task": work.task, **work.prepare(world)})


def test_after_all_these_deaths_every_item_belongs_to_something(everything: Items) -> None:
    assert [key for key in everything if not _belongs(everything, key)] == []


def _belongs(everything: Items, key: tuple[str, str]) -> bool:
    item, (letter, _, rest) = everything[key], key[0].partition("#")
    match letter:
        case "O":
            return (key[0], "#") in everything
        case "U":
            return (f"O#{item['ref']}", "#") in everything
        case "K":
            return rest in everything[item["record_pk"], item["record_sk"]]["digests"]
        case "A":
            return (f"Q#{rest.removesuffix('#S')}", "!") in everything
    # Of an outbox nothing waits any more; organizations are counted by their owners.
    left = {"Q": "!", "USER": "COUNT#", "I": ""}
    return letter in left and key[1].startswith(left[letter])


def test_after_all_these_deaths_the_keys_are_counted(everything: Items) -> None:
    live = Counter(pk for (pk, _), item in everything.items() if item.get("live"))
    counted = {pk: item["n"] for (pk, sk), item in everything.items() if sk == "COUNT#API keys"}
    assert {pk: count for pk, count in counted.items() if count} == live


def test_after_all_these_deaths_every_log_is_what_its_head_says(everything: Items) -> None:
    for log in {pk.removeprefix("A#") for pk, _ in everything if pk.startswith("A#") and not pk.endswith("#S")}:
        entries = [item for (pk, _), item in everything.items() if pk == f"A#{log}"]
        entries.sort(key=lambda entry: entry["sequence"])
        assert [entry["sequence"] for entry in entries] == list(range(1, len(entries) + 1))
        leaves = [bytes.fromhex(entry["leaf"]) for entry in entries]
        assert leaves == [sha256(b"\x00" + bytes.fromhex(entry["body"])).digest() for entry in entries]
        origin, size, signed_root, *_ = everything[f"Q#{log}", "!"]["note"].split("\n")
        assert (origin, size) == (f"atrium/{log}", str(len(entries)))
        assert b64decode(signed_root) == root(leaves)


@pytest.fixture(scope="module")
def everything(processes: Processes) -> Items:
    return {(item["pk"], item["sk"]): item for item in processes.do("everything")}
