"""A process dies at any call of AWS, in the middle of any mutation. Afterwards nothing has happened, or all of it."""

from typing import Final

import pytest

from tests.emulator.process import Death, Processes, step
from tests.emulator.stage import Stage
from tests.emulator.world import Mutation, World

pytestmark = [pytest.mark.emulator, pytest.mark.xdist_group("emulator")]

_HERE: Final = "/organizations/<organization>"
_MARY: Final = f"{_HERE}/members/<mary>"
_KEY: Final = f"{_HERE}/api-keys/<key>"

MUTATIONS: Final = (
    Mutation("update", "organization.updated", "PATCH", _HERE, {"name": "Other", "companyName": "Ltd."}),
    Mutation("change of slug", "organization.updated", "PATCH", _HERE, {"slug": "<slug>-new"}),
    Mutation("deletion", "organization.deleted", "DELETE", _HERE),
    Mutation("restoration", "organization.restored", "PATCH", _HERE, {"status": "active"}, needs=("deleted",)),
    Mutation("change of role", "organization.member.updated", "PATCH", _MARY, {"role": "editor"}),
    Mutation("removal", "organization.member.removed", "DELETE", _MARY),
    Mutation("leaving", "organization.member.removed", "POST", f"{_HERE}/leave", caller="mary"),
    Mutation(
        "transfer",
        "organization.ownership_transferred",
        "POST",
        f"{_HERE}/transfer-ownership",
        {"newOwnerId": "<mary>"},
    ),
    Mutation("creation of a key", "organization.api_key.created", "POST", f"{_HERE}/api-keys", {"name": "Second"}),
    Mutation("rotation", "organization.api_key.rotated", "POST", f"{_KEY}/rotate", {}, needs=("key",)),
    Mutation("revocation", "organization.api_key.revoked", "DELETE", _KEY, needs=("key",)),
)
CREATION: Final = Mutation(
    "creation", "organization.created", "POST", "/organizations", {"name": "World", "slug": "<slug>"}
)


def _world(stage: Stage, processes: Processes, mutation: Mutation) -> World:
    world = World(stage, processes)
    return world if mutation is CREATION else world.with_organization(*mutation.needs)


@pytest.mark.parametrize("mutation", [CREATION, *MUTATIONS], ids=str)
def test_a_process_dies(mutation: Mutation, stage: Stage, processes: Processes) -> None:
    world = _world(stage, processes, mutation)
    done = processes.run(world.request(mutation))
    processes.do("deliver")
    whole = world.footprint(world.contents())
    assert done.answers[0]["status"] < 300, done.answers
    assert done.calls[-2:] == ["TransactWriteItems", "SendMessage"]
    committed = Death(len(done.calls) - 1, answered=True)

    world = _world(stage, processes, mutation)
    before = world.contents()
    for death in done.deaths:
        processes.die(death, world.request(mutation))
        world.recover()
        if death < committed:  # As if it had never been, so the world will do for another death.
            assert world.contents() == before, death
        else:
            assert world.footprint(world.contents()) == whole, death
            _repeat(world, mutation)
            assert world.footprint(world.contents()) == whole, death
            world = _world(stage, processes, mutation)


def _repeat(world: World, mutation: Mutation) -> None:
    """Send the request again, as somebody does who got no answer."""
    answer, _ = world.processes.run(world.request(mutation), step("deliver")).answers
    assert answer["status"] < 300 or answer["body"]["code"] in ("not_found", "insufficient_role"), answer
