"""Whoever can write to the table alters one thing of a log: verification finds it, and says at which sequence."""

import base64
from typing import Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chalicelib.features.audit.log.logic import entry_queries as logs
from chalicelib.features.audit.log.logic.entry_verification import Fault
from chalicelib.features.audit.log.logic.log_verification import verify_next_window
from chalicelib.kernel.audit_log import redaction
from chalicelib.kernel.audit_log.ledger import HEAD
from chalicelib.kernel.storage import table
from tests.catalogue import evidence
from tests.catalogue.conftest import Begin
from tests.catalogue.tenant_fixture import World
from tests.conftest import Configure
from tests.harness import cloud, organizations
from tests.harness.cloud import Item

LENGTH: Final = 9
ERASED: Final = 4
INDEX_KEYS: Final = ("index1pk", "index1sk", "facet1pk", "facet2pk", "facet3pk")
MARK: Final = ("index2pk", "index2sk", "followed", "followed_part", "duepk", "duesk", "task", "log")
"""What says of a head since when it has waited for its anchor, and how far it is followed: nothing of the log."""

anything = st.text(max_size=40) | st.integers() | st.binary(max_size=40) | st.none() | st.lists(st.text(), max_size=1)
by_chance = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=40)


def a_long_log(world: World) -> str:
    """Let a log hold short and long entries and an erased one, sealed in several batches; return its name."""
    organization = organizations.found(world.api, world.people.owner)
    for n in range(LENGTH - 1):
        body = {"name": f"Name {n}", "companyAddress": f"{n}" * (3000 if n % 3 == 2 else 3)}
        assert world.api.patch(organization.path, as_=world.people.owner, json=body).status == 200
        if n % 2:
            world.workers.deliver()
    world.workers.deliver()
    table.write_transaction(redaction.redact_entry(organization.id, entry(organization.id, ERASED), is_authentic=True))
    return organization.id


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """The index of the tests doesn't lag: a gap in it is a gap."""
    monkeypatch.setattr(logs, "_INDEX_RETRY_SECONDS", ())


def found(log: str) -> Fault | None:
    return verify_next_window(log, None, None).fault


def entry(log: str, sequence: int) -> Item:
    (item,) = (i for i in cloud.stored() if i["pk"] == f"A#{log}" and i["sequence"] == sequence)
    return item


def head(log: str) -> Item:
    (item,) = (i for i in cloud.stored() if (i["pk"], i["sk"]) == (f"Q#{log}", HEAD))
    return item


def altered(item: Item, data: st.DataObject) -> Item:
    """The item with one attribute removed or changed, into what the table would take."""
    name = data.draw(st.sampled_from(sorted(set(item) - {"pk", "sk", *MARK})))
    rest = {other: value for other, value in item.items() if other != name}
    if data.draw(st.booleans()):
        return rest
    values = st.text(min_size=1, max_size=40) if name in INDEX_KEYS else anything
    if isinstance(item[name], bytes):
        values |= bits(item[name])
    return {**rest, name: data.draw(values.filter(lambda value: value != item[name]))}


def bits(value: bytes) -> st.SearchStrategy[bytes]:
    """The bytes with one bit flipped."""
    flipped = st.integers(0, max(len(value) * 8 - 1, 0))
    return flipped.map(lambda n: bytes(b ^ (1 << n % 8) if at == n // 8 else b for at, b in enumerate(value)))


def test_the_log_that_is_altered_here_is_whole(begin: Begin) -> None:
    log = begin(a_long_log)
    assert found(log) is None
    items = [item for item in cloud.stored() if item["pk"] == f"A#{log}"]
    assert sorted(item["sequence"] for item in items) == list(range(1, LENGTH + 1))
    assert ["erased" in entry(log, sequence) for sequence in (1, ERASED)] == [False, True]
    assert [item for item in cloud.stored() if item["pk"] == f"B#{log}"]


@by_chance
@given(st.integers(1, LENGTH), st.data())
def test_an_altered_entry_is_found_at_its_sequence(begin: Begin, sequence: int, data: st.DataObject) -> None:
    log = begin(a_long_log)
    item = altered(entry(log, sequence), data)
    cloud.put(item)
    fault = found(log)
    assert fault
    # An entry that pretends another's place is seen at the first of the two.
    assert fault.sequence in (sequence, pretended(item))
    assert fault.failure in ("modified", "missing", "truncated" if sequence == LENGTH else "modified")


def pretended(item: Item) -> int | None:
    place = item.get("index1sk", "")
    return int(place) if len(place) == 12 and place.isdigit() and place.isascii() else None


@by_chance
@given(st.integers(1, LENGTH))
def test_a_removed_entry_is_found_at_its_sequence(begin: Begin, sequence: int) -> None:
    log = begin(a_long_log)
    cloud.remove(entry(log, sequence))
    assert found(log) == Fault("truncated" if sequence == LENGTH else "missing", sequence)


@by_chance
@given(st.data())
def test_an_altered_or_removed_long_entry_is_found_at_its_sequence(begin: Begin, data: st.DataObject) -> None:
    log = begin(a_long_log)
    item = data.draw(st.sampled_from([i for i in cloud.stored() if i["pk"] == f"B#{log}"]))
    (sequence,) = (e["sequence"] for e in cloud.stored() if e["pk"] == f"A#{log}" and e["sk"] == item["sk"])
    if data.draw(st.booleans()):
        cloud.remove(item)
    else:
        cloud.put(altered(item, data))
    fault = found(log)
    assert fault
    assert fault.sequence == sequence


@by_chance
@given(st.data())
def test_an_altered_head_is_found(begin: Begin, data: st.DataObject) -> None:
    log = begin(a_long_log)
    cloud.put(altered(head(log), data))
    assert found(log)


@by_chance
@given(st.lists(st.integers(1, LENGTH), min_size=2, max_size=2, unique=True))
def test_entries_that_changed_places_are_found_at_the_first(begin: Begin, places: list[int]) -> None:
    log = begin(a_long_log)
    one, other = (entry(log, place) for place in places)
    moved = ("sequence", "index1pk", "index1sk")
    cloud.put({**one, **{name: other[name] for name in moved}})
    cloud.put({**other, **{name: one[name] for name in moved}})
    # Of an erased entry it can't be said whether it stood elsewhere.
    assert found(log) == Fault("modified" if max(places) == ERASED else "reordered", min(places))


def test_a_log_outlives_the_key_that_signed_it(begin: Begin, world: World, configure: Configure) -> None:
    log = begin(a_long_log)
    newer = base64.b64encode(bytes(range(32, 64))).decode()
    configure(audit_signing_key=newer, audit_former_public_keys=evidence.PUBLIC_KEY)
    assert found(log) is None
    body = {"name": "Newer"}
    assert world.api.patch(f"/organizations/{log}", as_=world.people.owner, json=body).status == 200
    world.workers.deliver()
    assert found(log) is None
    item = entry(log, LENGTH + 1)
    cloud.put({**item, "seal": bytes(len(item["seal"]))})
    assert found(log) == Fault("modified", LENGTH + 1)
