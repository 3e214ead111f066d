"""MACs of records that another release has stored: it lacks fields, or encodes documents in another way."""

import json
import zlib
from dataclasses import MISSING, fields
from typing import Any

import pytest

from chalicelib.entrypoints import catalogue
from chalicelib.features.platforms.entities import Platform
from chalicelib.features.tenancy.entities.memberships import Member
from chalicelib.features.tenancy.entities.organizations import Organization
from chalicelib.kernel.core.clock import after, now
from chalicelib.kernel.storage import json_documents, table
from chalicelib.kernel.storage.entity import Entity
from chalicelib.kernel.transactions.record_macs import mac_state, make_record_mac
from chalicelib.kernel.transactions.record_writes import PendingWrite
from chalicelib.kernel.transactions.unit_of_work import UnitOfWork
from local.tools.record_macs import renew_record_macs
from tests.harness import memory_aws, snapshots
from tests.harness.stored_records import load_item

Item = dict[str, Any]

ENCODINGS = {
    "native": lambda document: document,
    "indented": lambda document: json.dumps(document, indent=1),
    "compressed": lambda document: zlib.compress(json.dumps(document).encode(), 1),
}


def store_as_other_release(record_type: type[Entity], item: Item, encoding: str, *, has_mac: bool) -> Item:
    """Store an item without fields that have their default, with other encodings and a field of a newer release."""
    defaults = {f.name: f.default for f in fields(record_type) if f.default is not MISSING and f.name != "version"}
    absent = {record_type.stored_name(name) for name, value in defaults.items() if item.get(name, value) == value}
    stored = {name: value for name, value in item.items() if name not in {*absent, "record_mac"}}
    for name in record_type.json_fields & stored.keys():
        stored[name] = ENCODINGS[encoding](json_documents.from_json_or_compressed(stored[name]))
    stored["of_newer_release"] = "x"
    if has_mac:
        stored["record_mac"] = make_record_mac(record_type.from_item(stored), stored)
    memory_aws.put_item(stored)
    return stored


def store_all_as_other_release(encoding: str, *, has_mac: bool) -> list[tuple[type[Entity], Item]]:
    types = {each.kind: each for each in catalogue.list_record_types() if not each.mac_exemption}
    items = [item for item in snapshots.items_by_key().values() if item.get("kind") in types]
    return [
        (types[item["kind"]], store_as_other_release(types[item["kind"]], item, encoding, has_mac=has_mac))
        for item in items
    ]


def write(before: Entity, after_change: Entity, *, is_new: bool = False) -> Item:
    """Write a change of a record with an entry, and return the item that is stored then."""
    planned = PendingWrite(before, after_change, is_new=is_new).to_record_write(has_entry=True)
    table.write_transaction([planned.write])
    stored = load_item(before.item_key)
    assert stored == planned.item
    return stored


@pytest.mark.usefixtures("tenant")
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_change_of_a_record_that_another_release_stored_has_a_valid_mac(encoding):
    stored = store_all_as_other_release(encoding, has_mac=True)
    assert len({record_type for record_type, _ in stored}) > 20
    for record_type, item in stored:
        record = record_type.from_item(item)
        changed = write(record, record.replace(version=record.version + 1))
        assert changed["record_mac"] != item["record_mac"], record.kind
        assert mac_state(record, changed) == "valid", record.kind
        documents = {name: {"changed": [1.0]} for name in record.json_fields - record.unauthenticated_fields.keys()}
        current = record_type.from_item(changed)
        again = current.replace(version=current.version + 1, **documents)
        assert mac_state(record, write(current, again)) == "valid", record.kind


@pytest.mark.usefixtures("tenant")
def test_the_replacement_of_an_expired_record_has_a_valid_mac():
    for record_type, item in store_all_as_other_release("native", has_mac=True):
        former = record_type.from_item(item)
        new = former.replace(created_at=now(), record_mac=None)
        changed = write(former, new, is_new=True)
        assert (mac_state(new, changed), changed["created_at"]) == ("valid", new.created_at), record_type.kind


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.usefixtures("tenant", "scans_allowed")
def test_a_renewed_mac_covers_the_item_as_it_is_stored(encoding, configure):
    stored = store_all_as_other_release(encoding, has_mac=False)
    configure(unauthenticated_records_until=after(now(), seconds=60))
    assert renew_record_macs() == (len(stored), 0)
    for record_type, item in stored:
        renewed = load_item((item["pk"], item["sk"]))
        assert renewed == {**item, "record_mac": renewed["record_mac"]}
        assert mac_state(record_type.from_item(renewed), renewed) == "valid", record_type.kind


MALFORMED = [
    {"record_mac": "x"},
    {"record_mac": 1},
    {"version": "1"},
    {"version": 2**60},
    {"shape": 99},
    {"shape": "x"},
    {"kind": ["organization.member"]},
    {"user_id": "another"},
    {"id": None, "created_at": None},
]


@pytest.mark.parametrize("changed", MALFORMED, ids=str)
@pytest.mark.usefixtures("scans_allowed")
def test_a_malformed_record_does_not_stop_the_renewal_of_the_others(organization, changed, configure):
    item = load_item(Member.make_item_key(organization_id=organization.id, user_id=organization.owner.id))
    memory_aws.put_item({name: value for name, value in {**item, **changed}.items() if value is not None})
    _, invalid_count = renew_record_macs()
    assert invalid_count == ("kind" not in changed)  # Without its kind, it is no record.
    configure(unauthenticated_records_until=after(now(), seconds=60))
    assert renew_record_macs()[1] == (not {"kind", "record_mac"} & changed.keys())
    stored = load_item(Organization.make_item_key(id=organization.id))
    assert mac_state(Organization.from_item(stored), stored) == "valid"


@pytest.mark.usefixtures("tenant")
def test_an_altered_record_stays_invalid_although_its_fields_are_as_before():
    for record_type, item in store_all_as_other_release("native", has_mac=True):
        memory_aws.put_item({**item, "of_newer_release": "y"})
        record = record_type.from_item(load_item((item["pk"], item["sk"])))
        assert write(record, record.replace(version=record.version + 1))["record_mac"] == item["record_mac"]


@pytest.mark.usefixtures("tenant")
def test_a_record_can_be_changed_again_after_a_commit():
    (record_type, item), *_ = store_all_as_other_release("native", has_mac=True)
    record = record_type.from_item(item)
    for _ in range(2):
        changes = UnitOfWork(now())
        record = changes.update_untracked(record, created_at=after(record.created_at, seconds=1))
        changes.commit()
        stored = load_item(record.item_key)
        assert (mac_state(record, stored), record.stored_item) == ("valid", stored)


def test_an_unchanged_document_is_not_serialized(tenant, monkeypatch):
    item = load_item(Platform.make_item_key(id=tenant.platform.id))
    memory_aws.put_item(Platform.from_item(item).replace(theme={"mode": "dark"}).item())
    calls: list[object] = []
    monkeypatch.setattr(json_documents, "to_json", calls.append)
    name = {"name": "Other"}
    tenant.api.patch(tenant.platform.path, caller=tenant.people.owner, json=name).expect(200)
    assert calls == []
