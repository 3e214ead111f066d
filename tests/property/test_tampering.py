"""Verification detects any change of a stored log, and returns its sequence."""

import base64
from typing import Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chalicelib.features.audit.log.logic import entry_queries as logs
from chalicelib.features.audit.log.logic.entry_verification import Fault
from chalicelib.features.audit.log.logic.log_verification import verify_next_window
from chalicelib.kernel.audit_log import redaction
from chalicelib.kernel.audit_log.ledger import HEAD_SORT_KEY
from chalicelib.kernel.storage import table
from tests.catalogue import log_proof
from tests.catalogue.tenant_fixture import TenantFixture
from tests.harness import memory_aws, organizations
from tests.harness.memory_aws import Item

LENGTH: Final = 9
ERASED: Final = 4
INDEX_KEYS: Final = ("index1pk", "index1sk", "facet1pk", "facet2pk", "facet3pk")
UNVERIFIED_ATTRIBUTES: Final = ("index2pk", "index2sk", "followed", "followed_part", "duepk", "duesk", "task", "log")
"""Attributes of a head about its anchor and its consumer, which are not part of the verified log."""

any_value = st.text(max_size=40) | st.integers() | st.binary(max_size=40) | st.none() | st.lists(st.text(), max_size=1)
random_examples = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=40)


def create_long_log(world: TenantFixture) -> str:
    """Create a log with short, long and erased entries, appended in several batches. Return its name."""
    organization = organizations.create_organization(world.api, world.people.owner)
    for n in range(LENGTH - 1):
        body = {"name": f"Name {n}", "companyAddress": f"{n}" * (3000 if n % 3 == 2 else 3)}
        assert world.api.patch(organization.path, caller=world.people.owner, json=body).status == 200
        if n % 2:
            world.workers.deliver()
    world.workers.deliver()
    table.write_transaction(
        redaction.redaction_writes(organization.id, get_entry(organization.id, ERASED), should_sign=True)
    )
    return organization.id


@pytest.fixture(autouse=True)
def _no_index_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Disable retries of reads from the index, which does not lag here."""
    monkeypatch.setattr(logs, "_INDEX_RETRY_SECONDS", ())


def find_fault(log: str) -> Fault | None:
    return verify_next_window(log, None, None).fault


def get_entry(log: str, sequence: int) -> Item:
    (item,) = (item for item in memory_aws.all_items() if item["pk"] == f"A#{log}" and item["sequence"] == sequence)
    return item


def get_head(log: str) -> Item:
    (item,) = (item for item in memory_aws.all_items() if (item["pk"], item["sk"]) == (f"Q#{log}", HEAD_SORT_KEY))
    return item


def alter(item: Item, data: st.DataObject) -> Item:
    """Return the item with one attribute removed or changed to a value that the table accepts."""
    name = data.draw(st.sampled_from(sorted(set(item) - {"pk", "sk", *UNVERIFIED_ATTRIBUTES})))
    remaining = {other: value for other, value in item.items() if other != name}
    if data.draw(st.booleans()):
        return remaining
    values = st.text(min_size=1, max_size=40) if name in INDEX_KEYS else any_value
    if isinstance(item[name], bytes):
        values |= bit_flips(item[name])
    return {**remaining, name: data.draw(values.filter(lambda value: value != item[name]))}


def bit_flips(value: bytes) -> st.SearchStrategy[bytes]:
    """Return the bytes with one bit flipped."""
    flipped = st.integers(0, max(len(value) * 8 - 1, 0))
    return flipped.map(lambda n: bytes(b ^ (1 << n % 8) if at == n // 8 else b for at, b in enumerate(value)))


def test_the_unaltered_log_has_no_fault(restore_tenant):
    log = restore_tenant(create_long_log)
    assert find_fault(log) is None
    items = [item for item in memory_aws.all_items() if item["pk"] == f"A#{log}"]
    assert sorted(item["sequence"] for item in items) == list(range(1, LENGTH + 1))
    assert ["erased" in get_entry(log, sequence) for sequence in (1, ERASED)] == [False, True]
    assert [item for item in memory_aws.all_items() if item["pk"] == f"B#{log}"]


@random_examples
@given(st.integers(1, LENGTH), st.data())
def test_an_altered_entry_is_found_at_its_sequence(restore_tenant, sequence, data):
    log = restore_tenant(create_long_log)
    item = alter(get_entry(log, sequence), data)
    memory_aws.put_item(item)
    fault = find_fault(log)
    assert fault
    # An entry that claims another's position is detected at the first of the two.
    assert fault.sequence in (sequence, claimed_sequence(item))
    assert fault.failure in ("modified", "missing", "truncated" if sequence == LENGTH else "modified")


def claimed_sequence(item: Item) -> int | None:
    index_key = item.get("index1sk", "")
    return int(index_key) if len(index_key) == 12 and index_key.isdigit() and index_key.isascii() else None


@random_examples
@given(st.integers(1, LENGTH))
def test_a_removed_entry_is_found_at_its_sequence(restore_tenant, sequence):
    log = restore_tenant(create_long_log)
    memory_aws.delete_item(get_entry(log, sequence))
    assert find_fault(log) == Fault("truncated" if sequence == LENGTH else "missing", sequence)


@random_examples
@given(st.data())
def test_an_altered_or_removed_body_is_found_at_its_sequence(restore_tenant, data):
    log = restore_tenant(create_long_log)
    item = data.draw(st.sampled_from([item for item in memory_aws.all_items() if item["pk"] == f"B#{log}"]))
    (sequence,) = (e["sequence"] for e in memory_aws.all_items() if e["pk"] == f"A#{log}" and e["sk"] == item["sk"])
    if data.draw(st.booleans()):
        memory_aws.delete_item(item)
    else:
        memory_aws.put_item(alter(item, data))
    fault = find_fault(log)
    assert fault
    assert fault.sequence == sequence


@random_examples
@given(st.data())
def test_an_altered_head_is_found(restore_tenant, data):
    log = restore_tenant(create_long_log)
    memory_aws.put_item(alter(get_head(log), data))
    assert find_fault(log)


@random_examples
@given(st.lists(st.integers(1, LENGTH), min_size=2, max_size=2, unique=True))
def test_entries_with_swapped_positions_are_found_at_the_first(restore_tenant, sequences):
    log = restore_tenant(create_long_log)
    first, second = (get_entry(log, sequence) for sequence in sequences)
    position_attributes = ("sequence", "index1pk", "index1sk")
    memory_aws.put_item({**first, **{name: second[name] for name in position_attributes}})
    memory_aws.put_item({**second, **{name: first[name] for name in position_attributes}})
    # The signature of an erased entry does not distinguish a moved entry from a modified one.
    assert find_fault(log) == Fault("modified" if max(sequences) == ERASED else "reordered", min(sequences))


def test_a_log_stays_valid_after_a_rotation_of_the_signing_key(restore_tenant, tenant, configure):
    log = restore_tenant(create_long_log)
    new_key = base64.b64encode(bytes(range(32, 64))).decode()
    configure(audit_signing_key=new_key, audit_former_public_keys=log_proof.PUBLIC_KEY)
    assert find_fault(log) is None
    body = {"name": "Newer"}
    assert tenant.api.patch(f"/organizations/{log}", caller=tenant.people.owner, json=body).status == 200
    tenant.workers.deliver()
    assert find_fault(log) is None
    item = get_entry(log, LENGTH + 1)
    memory_aws.put_item({**item, "seal": bytes(len(item["seal"]))})
    assert find_fault(log) == Fault("modified", LENGTH + 1)
